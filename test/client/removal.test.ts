import { describe, expect, it } from 'vitest';
import type { LooseOptions } from './support/loose-server.ts';
import type { Reply, Routes } from '../support/server.ts';
import { useLoose } from '../support/use-scripted.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const at = useLoose();

describe('a deletion without an answer', () => {
  /**
   * The first DELETE of a route that the server has is carried out and its connection cut; the next
   * finds nothing.
   */
  function loseFirst(found: Reply): void {
    let isLost = false;
    const { handler } = at.server;
    at.server.handler = async (asked) => {
      if (asked.method !== 'DELETE') return handler(asked);
      if (isLost) return found;
      const reply = await handler(asked);
      if ('status' in reply && (reply.status === 404 || reply.status === 405)) return reply;
      isLost = true;
      return { cut: true };
    };
  }

  it.each([
    [
      'V1',
      {},
      '/api/v1/app-conversations/',
      { status: 404, json: { detail: 'unknown_app_conversation' } },
    ],
    ['V0', ONLY_V0_ROUTE, '/api/conversations/', { json: false }],
  ])('of a conversation over %s is reported as successful', async (_, options, route, found) => {
    at.serve(options);
    const { id } = await at.start('hello', '--wait');
    loseFirst(found);
    await at.ends(`conv delete ${id} -y --json`, { out: { changed: true } });
    expect(at.deletions(route)).toHaveLength(2);
  });

  it('of a sandbox is reported as successful', async () => {
    const { sandbox } = await at.start('hello', '--wait');
    loseFirst({ status: 404, json: { detail: 'Sandbox not found' } });
    await at.ends(`sandbox delete ${sandbox} -y --json`, { out: { id: sandbox, changed: true } });
  });

  it.each([
    ['conv', 'carried out', { out: { changed: true } }],
    ['conv', 'not carried out', { code: 10, err: 'is still there' }],
    ['sandbox', 'carried out', { out: { changed: true } }],
    ['sandbox', 'not carried out', { code: 10, err: 'is still there' }],
  ] as const)(
    'whose repetitions are not answered either is checked by a read: %s delete, %s',
    async (noun, effect, ending) => {
      const { id, sandbox } = await at.start('hello', '--wait');
      const { handler } = at.server;
      at.server.handler = async (asked) => {
        if (asked.method !== 'DELETE') return handler(asked);
        if (effect === 'carried out') await handler(asked);
        return { cut: true };
      };
      await at.ends(`${noun} delete ${noun === 'conv' ? id : sandbox} -y --json`, ending);
    },
  );
});

describe('a deletion that the server answers with 404 while it still lists the thing exits 6', () => {
  const NOT_FOUND = { status: 404, json: { detail: 'it was not found' } };
  const secrets = (...items: object[]) => ({
    json: { items, custom_secrets: items, next_page_id: null },
  });
  const profiles = { json: { profiles: [{ name: 'fast' }], active_profile: null } };
  const organization = { name: 'TOKEN', scope: 'organization' };

  it.each<[string, string, LooseOptions, Routes, string]>([
    [
      'a secret over V1',
      'secret delete TOKEN',
      {},
      { 'GET /api/v1/secrets/search': secrets({ name: 'TOKEN' }) },
      'still lists it',
    ],
    [
      'a secret over V0',
      'secret delete TOKEN',
      { v0: true },
      { 'GET /api/secrets': secrets({ name: 'TOKEN' }) },
      'still lists it',
    ],
    [
      'a secret of an organization',
      'secret delete TOKEN',
      {},
      { 'GET /api/v1/secrets/search': secrets(organization) },
      'belongs to the organization',
    ],
    [
      'a model profile',
      'settings profile delete fast',
      {},
      { 'GET /api/v1/settings/profiles': profiles },
      'still lists it',
    ],
    [
      'a token of a git provider',
      'git-provider delete github',
      {},
      { 'GET /api/v1/settings': { json: { provider_tokens_set: { github: null } } } },
      'still has a token for github',
    ],
  ])('%s', async (_, line, options, routes, reason) => {
    at.serve(options);
    at.script(routes);
    at.script((asked) =>
      asked.method === 'DELETE' || asked.path === '/api/unset-provider-tokens' ? NOT_FOUND : null,
    );
    await at.ends(`${line} -y --json`, { code: 6, out: '', err: reason });
  });

  it('and 0 when the list does not have it', async () => {
    let isListed = true;
    at.script((asked) => {
      if (asked.path === '/api/v1/secrets/search')
        return secrets(...(isListed ? [{ name: 'TOKEN' }] : []));
      if (asked.method !== 'DELETE') return null;
      isListed = false;
      return NOT_FOUND;
    });
    await at.ends('secret delete TOKEN -y --json', { out: { name: 'TOKEN', changed: true } });
  });
});

it('secret set of a name that the organization has stores a personal secret, after a notice', async () => {
  const items = [{ name: 'TOKEN', description: 'shared', scope: 'organization' }];
  at.script({
    'GET /api/v1/secrets/search': { json: { items, next_page_id: null } },
    'POST /api/v1/secrets': { status: 201, json: {} },
  });
  await at.ends('secret list --json', { out: { items } });
  const ended = await at.ends('secret set TOKEN - --json', {
    stdin: 'a-new-value',
    out: { name: 'TOKEN', description: null, scope: 'personal', changed: true },
    err: 'TOKEN is a secret of the organization and stays; a personal one is stored beside it',
    writes: ['POST /api/v1/secrets'],
  });
  expect(ended.err).not.toContain('was replaced');
});
