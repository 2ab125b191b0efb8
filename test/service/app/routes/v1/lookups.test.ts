import { describe, expect, it } from 'vitest';
import { gitHostOfSuite, HELLO } from '../../git-host.ts';
import { appOfSuite } from '../../support.ts';

const app = appOfSuite();
const host = gitHostOfSuite(app);

describe('the look-ups of V1 without a Forgejo host', () => {
  const ask = (path: string) => app.call('GET', `/api/v1/${path}`);

  it('are refused, with what is missing', async () => {
    const repositories = 'git/repositories/search?provider=forgejo';
    expect(await ask(repositories)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('token required') as string },
    });
    await app.call('POST', '/api/v1/secrets/git-providers', { provider_tokens: { github: { token: 'g' } } });
    for (const path of [repositories, 'git/installations/search?provider=github']) {
      expect(await ask(path)).toMatchObject({
        status: 501,
        body: { detail: expect.stringContaining('Forgejo hosts only') as string },
      });
    }
    expect(await ask('git/suggested-tasks/search')).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('know the models of the settings and the profiles, in pages', async () => {
    const save = (name: string, model: string) =>
      app.call('POST', `/api/v1/settings/profiles/${name}`, { llm: { model } });
    for (const [name, model] of Object.entries({ a: 'openai/small', b: 'openai/large', c: 'local' }))
      await save(name, model);
    const names = async (path: string): Promise<unknown> => {
      const { items, next_page_id: next } = (await ask(path)).body as {
        items: { name: string }[];
        next_page_id: unknown;
      };
      return [...items.map(({ name }) => name), next];
    };
    expect(await names('config/models/search')).toEqual(['local', 'large', 'small', null]);
    expect(await names('config/models/search?query=OPENAI&limit=1')).toEqual(['large', '1']);
    expect(await names('config/models/search?query=OPENAI&limit=1&page_id=1')).toEqual(['small', null]);
    expect(await names('config/providers/search')).toEqual(['openai', null]);
    expect(await names('config/providers/search?query=none')).toEqual([null]);
  });
});

describe('a Forgejo host that is named with its token', () => {
  it('lists the repositories of the user over V1', async () => {
    await host.store('v1');
    const get = async (at: string): Promise<unknown> => (await app.call('GET', at)).body;
    const repositories = '/api/v1/git/repositories/search?provider=forgejo';
    expect(await get(repositories)).toMatchObject({ items: [HELLO], next_page_id: null });
    expect(await get(`${repositories}&query=hello`)).toMatchObject({ items: [HELLO] });
    const branches = '/api/v1/git/branches/search?provider=forgejo&repository=demo/hello&query=';
    expect(await get(branches)).toMatchObject({
      items: [{ name: 'main' }, { name: 'matrix' }, { name: 'next' }],
      next_page_id: null,
    });
    expect(await get(`${branches}nex&limit=1`)).toMatchObject({ items: [{ name: 'next' }], next_page_id: null });
    expect(await get(`${branches}&limit=1`)).toMatchObject({ items: [{ name: 'main' }], next_page_id: '1' });
    expect(await get(branches.replace('hello', 'nowhere'))).toEqual({ items: [], next_page_id: null });
    expect(await get('/api/v1/git/suggested-tasks/search')).toEqual({ items: [], next_page_id: null });
    expect((await app.call('GET', '/api/v1/git/repositories/search?provider=github')).status).toBe(501);
  });
});
