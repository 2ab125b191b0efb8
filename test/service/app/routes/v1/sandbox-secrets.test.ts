import { beforeAll, describe, expect, it } from 'vitest';
import { appOfSuite } from '../../support.ts';

const app = appOfSuite();
let sandbox: { id: string; session_api_key: string };
let path: string;

beforeAll(async () => {
  sandbox = (await app.call('POST', '/api/v1/sandboxes')).body as typeof sandbox;
  path = `/api/v1/sandboxes/${sandbox.id}/settings/secrets`;
  await app.call('POST', '/api/v1/secrets', { name: 'TOKEN_B', value: 'b-value', description: 'of b' });
  await app.call('POST', '/api/v1/secrets/git-providers', { provider_tokens: { github: { token: 'gh-value' } } });
});

const ask = (target: string, key: string | null) =>
  app.call('GET', target, undefined, key === null ? {} : { 'X-Session-API-Key': key });

describe('the secrets as a sandbox reads them', () => {
  it('are listed by name for the key of the sandbox, without values', async () => {
    const { status, body } = await ask(path, sandbox.session_api_key);
    expect(status).toBe(200);
    expect(body).toEqual({
      secrets: [
        { name: 'TOKEN_B', description: 'of b' },
        { name: 'github_token', description: 'Token of a git provider' },
      ],
    });
    expect(JSON.stringify(body)).not.toContain('value');
  });

  it('are returned one by one, as text', async () => {
    const { status, body, headers } = await ask(`${path}/TOKEN_B`, sandbox.session_api_key);
    expect({ status, body }).toEqual({ status: 200, body: 'b-value' });
    expect(headers.get('content-type')).toContain('text/plain');
    expect((await ask(`${path}/github_token`, sandbox.session_api_key)).body).toBe('gh-value');
    expect((await ask(`${path}/NOPE`, sandbox.session_api_key)).status).toBe(404);
  });

  it.each([
    ['no key', null, 'X-Session-API-Key header is required'],
    ['the key of the service', 'test-key', 'Invalid session API key'],
  ])('are refused to %s', async (_, key, detail) => {
    for (const target of [path, `${path}/TOKEN_B`])
      expect(await ask(target, key)).toMatchObject({ status: 401, body: { detail } });
  });

  it('are refused to any other sandbox, and to one that is not running', async () => {
    const other = (await app.call('POST', '/api/v1/sandboxes')).body as typeof sandbox;
    expect(await ask(`${path}/TOKEN_B`, other.session_api_key)).toMatchObject({
      status: 403,
      body: { detail: 'Session API key does not match sandbox' },
    });
    await app.context.supervisor.pause(other.id);
    expect(await ask(path.replace(sandbox.id, other.id), other.session_api_key)).toMatchObject({
      status: 401,
      body: { detail: 'Sandbox is not running' },
    });
  });
});
