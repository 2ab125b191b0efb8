import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';

/** Which routes the service has, and which member of the body a changed setting is found in. */
const DIALECTS = [
  {
    api: 'v0' as const,
    route: '/api/settings',
    read: (body: Record<string, unknown>) => body['max_iterations'],
  },
  {
    api: 'v1' as const,
    route: '/api/v1/settings',
    read: (body: Record<string, unknown>) =>
      (body['conversation_settings_diff'] as Record<string, unknown> | undefined)?.['max_iterations'],
  },
];

describe.each(DIALECTS)('settings on a server that speaks $api', ({ api, route, read }) => {
  let world: World;
  let proxy: RecordingProxy;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
    proxy = await recordingProxy(world.service.url);
  });
  afterAll(async () => {
    await proxy.close();
    await world.close();
  });
  beforeEach(() => {
    proxy.requests.length = 0;
  });

  const acs = (...args: string[]): Promise<Ended> =>
    world.invoke({ args: ['settings', ...args], env: { ACS_BASE_URL: proxy.url } });
  const settings = async (): Promise<Record<string, unknown>> => {
    const { code, out, err } = await acs('get', '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as Record<string, unknown>;
  };
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(path.join(world.dir, name), content);
    return name;
  };

  it('changes max_iterations and no other field while nothing is stored', async () => {
    const before = await settings();
    const { code, out, err } = await acs('set', 'max_iterations=7', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ max_iterations: 7, changed: true });
    expect(err).toContain(`{"notice":"max_iterations: ${api === 'v1' ? '500' : '(unset)'} -> 7"}`);
    expect(await settings()).toEqual({ ...before, max_iterations: 7 });
  });

  it('changes max_iterations and no other field of stored settings', async () => {
    await file('key', 'a-model-key\n');
    const first = await acs('set', 'llm_model=openai/gpt-4o', 'llm_api_key=@key', 'language=de', 'max_iterations=40');
    expect(first.code).toBe(0);
    const before = await settings();
    expect(before).toMatchObject({ llm_api_key: '(set)', language: 'de', max_iterations: 40 });
    proxy.requests.length = 0;
    await acs('set', 'max_iterations=8');
    expect(proxy.writes().map(({ method, path: sent }) => `${method} ${sent}`)).toEqual([`POST ${route}`]);
    const body = proxy.writes()[0]?.body as Record<string, unknown>;
    expect(read(body)).toBe(8);
    if (api === 'v1') expect(body).toEqual({ conversation_settings_diff: { max_iterations: 8 } });
    else expect(body).toMatchObject({ language: 'de', llm_model: 'openai/gpt-4o' });
    expect(JSON.stringify(body)).not.toMatch(/redacted|\*\*\*|\(set\)/);
    expect(await settings()).toEqual({ ...before, max_iterations: 8 });
  });

  it('sends nothing when nothing differs', async () => {
    await acs('set', 'max_iterations=9');
    proxy.requests.length = 0;
    const { code, out, err } = await acs('set', 'max_iterations=9', '--json');
    expect({ code, changed: (JSON.parse(out) as { changed: boolean }).changed, err }).toEqual({
      code: 0,
      changed: false,
      err: '{"notice":"nothing to change"}\n',
    });
    expect(proxy.writes()).toEqual([]);
  });

  it('takes a secret from a file, and says (changed) and never the value', async () => {
    await file('key', 'first-secret-key\n');
    await acs('set', 'llm_api_key=@key');
    await file('key', 'second-secret-key\n');
    proxy.requests.length = 0;
    const { code, out, err } = await acs('set', 'llm_api_key=@key', '--json', '--debug');
    expect(code).toBe(0);
    expect(err).toContain('llm_api_key: (set) -> (changed)');
    expect(out + err).not.toMatch(/first-secret-key|second-secret-key/);
    expect(JSON.stringify(proxy.writes()[0]?.body)).toContain('"second-secret-key"');
  });

  it('takes a secret from stdin', async () => {
    const { code, err } = await world.invoke({
      args: ['settings', 'set', 'search_api_key=-'],
      stdin: 'a-search-key\n',
      env: { ACS_BASE_URL: proxy.url },
    });
    expect(code).toBe(0);
    expect(err).toMatch(/search_api_key: \((unset|unknown)\) -> \(set\)/);
    expect(JSON.stringify(proxy.writes()[0]?.body)).toContain('"search_api_key":"a-search-key"');
  });

  it('refuses a secret on the command line before any request, and does not repeat it', async () => {
    for (const word of [
      'llm_api_key=sk-hush',
      'mcp_config={"shttp_servers":[{"url":"http://x.example","api_key":"sk-hush"}]}',
    ]) {
      const { code, out, err } = await acs('set', word, '--json');
      expect(code).toBe(2);
      expect(out + err).not.toContain('sk-hush');
      expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage' } });
    }
    expect(proxy.requests).toEqual([]);
  });

  it.each([
    ['max_iterations=many', 'max_iterations: must be a whole number'],
    ['max_iterations=0', 'max_iterations: must be at least 1'],
    ['confirmation_mode=yes', 'confirmation_mode: must be true or false'],
    ['remote_runtime_resource_factor=3', 'remote_runtime_resource_factor: must be one of 1, 2, 4, 8'],
    [
      'mcp_config={"sse_servers":[{"url":"ftp://x"}]}',
      'mcp_config: sse_servers[0].url must be an http, https, ws or wss URL',
    ],
    ['mcp_config={"sse_servers":[', 'mcp_config: is not valid JSON'],
    [
      'mcp_config={"sse_servers":[{"url":"https://<redacted>@x.example/sse"}]}',
      'mcp_config: sse_servers[0].url has <redacted> in it, where a secret was: write it in full',
    ],
    ['secrets_store=[]', 'secrets_store: must be an object'],
  ])('refuses %s before any request', async (word, problem) => {
    const { code, err } = await acs('set', word);
    expect(code).toBe(2);
    expect(err).toContain(`error: ${problem}`);
    expect(proxy.requests).toEqual([]);
  });

  it('suggests the name that was meant', async () => {
    const set = await acs('set', 'max_iteration=7');
    expect(set.code).toBe(2);
    expect(set.err).toContain('did you mean max_iterations?');
    const unset = await acs('unset', 'llm_modle');
    expect({ code: unset.code, hint: unset.err.includes('llm_model') }).toEqual({ code: 2, hint: true });
    const get = await acs('get', 'max_iteration');
    expect({ code: get.code, hint: get.err.includes('max_iterations') }).toEqual({ code: 5, hint: true });
    expect(proxy.writes()).toEqual([]);
  });

  it('refuses two readers of stdin, a key given twice and nothing at all', async () => {
    for (const words of [
      ['llm_api_key=-', 'search_api_key=-'],
      ['language=de', 'language=en'],
      ['llm_model=-', '--file', '-'],
      [],
    ]) {
      expect((await acs('set', ...words)).code).toBe(2);
    }
    expect(proxy.requests).toEqual([]);
  });

  it('prints a line of name and value for each in a pipe, and the bare value of one that is named', async () => {
    await acs('set', 'max_iterations=7', 'language=de');
    const all = (await acs('get')).out.split('\n').slice(0, -1);
    expect(all.length).toBeGreaterThan(10);
    expect(all.every((line) => line.split('\t').length === 2)).toBe(true);
    expect(all).toContain('max_iterations\t7');
    expect((await acs('get', 'max_iterations')).out).toBe('7\n');
  });

  it('ends with 3 when a file cannot be read', async () => {
    const { code, err } = await acs('set', 'llm_model=@nowhere');
    expect(code).toBe(3);
    expect(err).toMatch(/^error: cannot read nowhere: it does not exist\n {2}check the path; it stands for \/.+\n$/);
  });

  it('sets what a file holds, and keeps secrets that are masked there', async () => {
    const printed = await settings();
    const name = await file('settings.json', JSON.stringify({ ...printed, language: 'fr', llm_api_key: '(set)' }));
    proxy.requests.length = 0;
    const { code, err } = await acs('set', '--file', name);
    expect({ code, changed: err.split('\n').filter((line) => line.includes('->')) }).toEqual({
      code: 0,
      changed: [`language: ${String(printed['language'])} -> fr`],
    });
    expect(JSON.stringify(proxy.writes()[0]?.body)).not.toContain('(set)');
    expect(await settings()).toEqual({ ...printed, language: 'fr' });
  });

  it('names the place of a mistake in a file', async () => {
    const broken = await acs('set', '--file', await file('broken.json', '{\n  "language": de\n}'));
    expect(broken.code).toBe(2);
    expect(broken.err).toMatch(/error: broken\.json is not valid JSON/);
    const list = await acs('set', '--file', await file('list.json', '[]'));
    expect(list).toMatchObject({
      code: 2,
      err: 'error: list.json must hold a JSON object of settings\n  see: acs settings set --help\n',
    });
  });

  it('takes what it printed back as it is, also where a URL holds a password', async () => {
    const config = { sse_servers: [{ url: 'https://me:hush-word-1@mcp.example/sse', api_key: 'hush-word-2' }] };
    await acs('set', `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`);
    const { out } = await acs('get', '--json');
    expect(out).not.toContain('hush-word');
    proxy.requests.length = 0;
    const changed = out.replace(/"max_iterations": \w+/, '"max_iterations": 23');
    const ended = await acs('set', '--file', await file('printed.json', changed));
    expect(ended.code, ended.err).toBe(0);
    expect(ended.err).not.toContain('mcp_config');
    expect(read(proxy.writes()[0]?.body as Record<string, unknown>)).toBe(23);
    await acs('unset', 'mcp_config', 'max_iterations');
  });

  it('stores MCP servers from a file and shows them without their keys', async () => {
    const config = {
      sse_servers: [{ url: 'https://one.example.org/sse', api_key: 'sse-hush' }],
      shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: 'http-hush', timeout: 30 }],
      stdio_servers: [{ name: 'tools', command: 'npx', args: ['-y', 'tools'], env: { TOKEN: 'env-hush' } }],
    };
    const { code, out, err } = await acs(
      'set',
      `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`,
      '--json',
    );
    expect(code).toBe(0);
    expect(out + err).not.toContain('hush');
    const sent = JSON.stringify(proxy.writes()[0]?.body);
    for (const secret of ['sse-hush', 'http-hush', 'env-hush']) expect(sent).toContain(secret);
    const shown = (await settings())['mcp_config'];
    expect(shown).toMatchObject({
      sse_servers: [{ url: 'https://one.example.org/sse', api_key: '<redacted>' }],
      shttp_servers: [{ url: 'https://two.example.org/mcp' }],
      stdio_servers: [{ name: 'tools', command: 'npx', args: ['-y', 'tools'] }],
    });
    expect((await acs('unset', 'mcp_config')).code).toBe(0);
    expect((await settings())['mcp_config']).toBeNull();
  });

  it('shows no secret in the arguments of MCP servers, and takes none from the command line', async () => {
    const args = ['-y', 'tools', '--api-key=hush-one', '--token', 'hush-two', '-e', 'GITHUB_TOKEN=hush-three'];
    const config = { stdio_servers: [{ name: 'tools', command: 'npx', args }] };
    const word = `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`;
    const planned = await acs('set', word, '--dry-run', '--debug');
    const set = await acs('set', word);
    const again = await acs('set', word, '--json');
    const { out } = await acs('get', '--json');
    expect(JSON.stringify(proxy.writes().at(-1)?.body)).toContain('hush-three');
    for (const each of [planned, set, again, { out, err: '' }]) expect(each.out + each.err).not.toContain('hush');
    expect(set.err).toContain('--api-key=<redacted>');
    expect((await settings())['mcp_config']).toMatchObject({
      stdio_servers: [
        { args: ['-y', 'tools', '--api-key=<redacted>', '--token', '<redacted>', '-e', 'GITHUB_TOKEN=<redacted>'] },
      ],
    });
    expect((await acs('set', `mcp_config=${JSON.stringify(config)}`)).code).toBe(2);
    await acs('unset', 'mcp_config');
  });

  it('never writes a mask back: it is replaced by what is stored, or the write is refused', async () => {
    const config = { shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: 'http-hush', timeout: 30 }] };
    await acs('set', `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`);
    const masked = { shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: '<redacted>', timeout: 60 }] };
    const word = `mcp_config=@${await file('masked.json', JSON.stringify(masked))}`;
    proxy.requests.length = 0;
    const { code, err } = await acs('set', word);
    if (api === 'v0') {
      // V0 tells the key in clear, so it can be sent back.
      expect(code).toBe(0);
      expect(JSON.stringify(proxy.writes()[0]?.body)).toContain('http-hush');
    } else {
      expect({ code, named: err.includes('the key of https://two.example.org/mcp') }).toEqual({ code: 6, named: true });
      expect(proxy.writes()).toEqual([]);
      expect((await acs('set', word, '-y')).code).toBe(6);
      expect((await acs('set', word, '--allow-loss')).code).toBe(0);
    }
    expect(JSON.stringify(proxy.writes())).not.toContain('redacted');
    await acs('unset', 'mcp_config');
  });

  it('warns on V0 of a secret that may be lost and cannot be known', async () => {
    await acs('set', 'language=it');
    const { err } = await acs('set', 'language=es');
    expect(err.includes('sandbox_api_key')).toBe(api === 'v0');
  });

  it('sends the parts of secrets_store to where the server takes them', async () => {
    const store = { custom_secrets: { DEPLOY_TOKEN: { secret: 'deploy-hush', description: 'to deploy' } } };
    const { code, out, err } = await acs('set', `secrets_store=@${await file('store.json', JSON.stringify(store))}`);
    expect(code).toBe(0);
    expect(out + err).not.toContain('deploy-hush');
    expect(proxy.writes().some(({ body }) => JSON.stringify(body).includes('deploy-hush'))).toBe(true);
  });

  it('brings a setting back to nothing, once', async () => {
    await acs('set', 'llm_base_url=https://models.example.org/v1');
    const first = await acs('unset', 'llm_base_url', '--json');
    expect(JSON.parse(first.out)).toMatchObject({ llm_base_url: null, changed: true });
    proxy.requests.length = 0;
    const second = await acs('unset', 'llm_base_url', '--json');
    expect(JSON.parse(second.out)).toMatchObject({ llm_base_url: null, changed: false });
    expect(proxy.writes()).toEqual([]);
  });

  it('prints the value alone for scripts', async () => {
    await acs('set', 'max_iterations=11', 'language=de');
    expect(await acs('get', 'max_iterations')).toMatchObject({ code: 0, out: '11\n' });
    expect(await acs('get', 'language', 'max_iterations')).toMatchObject({ out: 'language\tde\nmax_iterations\t11\n' });
    expect(JSON.parse((await acs('get', 'max_iterations', '--json')).out)).toEqual({ max_iterations: 11 });
    expect(await acs('get', 'max_iterations', '--format', 'ndjson')).toMatchObject({ out: '{"max_iterations":11}\n' });
    expect((await acs('get', '-q')).code).toBe(2);
  });

  it('shows rows of name and value on a terminal, each name as it is typed', async () => {
    await acs('set', 'max_iterations=11');
    const { out } = await world.invoke({
      args: ['settings', 'get', 'max_iterations', 'language', '--no-color'],
      columns: 100,
    });
    expect(out).toBe('NAME            VALUE\nmax_iterations  11\nlanguage        de\n');
  });

  it('prints the request a dry run keeps back, and stores nothing', async () => {
    const before = await settings();
    proxy.requests.length = 0;
    const { code, out } = await acs('set', 'max_iterations=99', '--dry-run', '--json');
    expect(code).toBe(0);
    const plan = JSON.parse(out) as { dry_run: boolean; requests: { method: string; url: string }[] };
    expect(plan.dry_run).toBe(true);
    expect(plan.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([`POST ${route}`]);
    expect(proxy.writes()).toEqual([]);
    expect(await settings()).toEqual(before);
  });

  it.each([['get'], ['set', 'max_iterations=7'], ['unset', 'language']])(
    'settings %s exits 2 for the format id before any request',
    async (...words) => {
      const { code, err } = await acs(...words, '-q');
      expect({ code, requests: proxy.requests }).toEqual({ code: 2, requests: [] });
      expect(err).toContain('settings have no ids');
    },
  );

  it('lists what can be set', async () => {
    const { out } = await acs('schema', 'max_iterations', 'llm_api_key', '--json');
    const { items, has_more } = JSON.parse(out) as { items: Record<string, unknown>[]; has_more: boolean };
    expect(has_more).toBe(false);
    expect(items.map(({ name, type, secret, minimum }) => ({ name, type, secret, minimum }))).toEqual([
      { name: 'max_iterations', type: 'integer', secret: false, minimum: 1 },
      { name: 'llm_api_key', type: 'string', secret: true, minimum: null },
    ]);
    expect((await acs('schema', '-q')).out).toMatch(/^language\nagent\nmax_iterations\n/);
  });

  it('refuses to open an editor off a terminal', async () => {
    expect((await acs('edit')).code).toBe(2);
  });
});
