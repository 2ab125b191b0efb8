import { describe, expect, it } from 'vitest';
import { appOfEachTest, expectAnswers } from '../support.ts';

const app = appOfEachTest();

describe('secrets', () => {
  it('are shared by both dialects, and their values are in no answer', async () => {
    const [a, b] = [
      { name: 'TOKEN_A', description: 'first' },
      { name: 'TOKEN_B', description: '' },
    ];
    await expectAnswers(app, [
      ['POST /api/secrets', { ...a, value: 'hush' }, 201],
      [
        'POST /api/secrets',
        { name: 'TOKEN_A', value: 'x' },
        400,
        { message: 'Secret TOKEN_A already exists' },
      ],
      ['POST /api/v1/secrets', { name: 'TOKEN_B', value: 'hush' }, 201],
      ['POST /api/v1/secrets', { name: 'a b', value: 'hush' }, 422],
      ['PUT /api/v1/secrets/TOKEN_A', { name: 'TOKEN_B' }, 400],
      ['PUT /api/v1/secrets/TOKEN_X', { name: 'TOKEN_Y' }, 404],
      ['PUT /api/v1/secrets/TOKEN_A', { name: 'TOKEN_C', description: 'new' }, 200],
      ['DELETE /api/secrets/TOKEN_C', undefined, 200],
      ['DELETE /api/v1/secrets/TOKEN_C', undefined, 404],
      ['DELETE /api/secrets/TOKEN_C', undefined, 404],
      ['POST /api/v1/secrets', { ...a, value: 'hush' }, 201],
    ]);
    expect(await app.get('/api/secrets')).toEqual({ custom_secrets: [a, b] });
    const search = '/api/v1/secrets/search?limit=1';
    expect(await app.get(search)).toEqual({ items: [a], next_page_id: 'TOKEN_A' });
    expect(await app.get(`${search}&page_id=TOKEN_A`)).toEqual({ items: [b], next_page_id: null });
    expect(await app.get(`${search}&name__contains=n_b`)).toEqual({
      items: [b],
      next_page_id: null,
    });
  });

  it.each([
    ['/api/secrets', 'value'],
    ['/api/v1/secrets', 'value'],
    ['/api/secrets', 'name'],
    ['/api/v1/secrets', 'description'],
  ])(
    'refuse at %s a null character in the %s, at which the database would end a value',
    async (path, member) => {
      const secret = { name: 'TOKEN', value: 'v', description: 'd', [member]: 'first\0second' };
      await expectAnswers(app, [
        [`POST ${path}`, secret, 422, { detail: [{ loc: ['body', member] }] }],
      ]);
      expect(await app.get('/api/secrets')).toEqual({ custom_secrets: [] });
    },
  );
});

it('a sandbox reads the secrets with its own key while it runs, and no other key', async () => {
  type Sandbox = { id: string; session_api_key: string };
  const [sandbox, other] = await Promise.all(
    [1, 2].map(async () => (await app.post('/api/v1/sandboxes')).body as Sandbox),
  );
  if (sandbox === undefined || other === undefined) expect.fail();
  const path = `/api/v1/sandboxes/${sandbox.id}/settings/secrets`;
  await expectAnswers(app, [
    ['POST /api/v1/secrets', { name: 'TOKEN_B', value: 'b-value', description: 'of b' }, 201],
    [
      'POST /api/v1/secrets/git-providers',
      { provider_tokens: { github: { token: 'gh-value' } } },
      200,
    ],
  ]);
  const ask = async (target: string, key?: string): Promise<unknown[]> => {
    const { status, body } = await app.call(
      'GET',
      target,
      undefined,
      key === undefined ? {} : { 'X-Session-API-Key': key },
    );
    return [status, status === 200 ? body : (body as { detail: string }).detail];
  };
  const { session_api_key: key } = sandbox;
  const github = { name: 'github_token', description: 'Token of a git provider' };
  expect(await ask(path, key)).toEqual([
    200,
    { secrets: [{ name: 'TOKEN_B', description: 'of b' }, github] },
  ]);
  expect(await ask(`${path}/TOKEN_B`, key)).toEqual([200, 'b-value']);
  expect(await ask(`${path}/github_token`, key)).toEqual([200, 'gh-value']);
  expect(await ask(`${path}/NOPE`, key)).toEqual([404, 'Secret not found']);
  for (const target of [path, `${path}/TOKEN_B`]) {
    expect(await ask(target)).toEqual([401, 'X-Session-API-Key header is required']);
    expect(await ask(target, app.context.key)).toEqual([401, 'Invalid session API key']);
    expect(await ask(target, other.session_api_key)).toEqual([
      403,
      'Session API key does not match sandbox',
    ]);
  }
  await app.context.supervisor.pause(sandbox.id);
  expect(await ask(path, key)).toEqual([401, 'Sandbox is not running']);
});
