import { describe, expect, it } from 'vitest';
import { TestClock } from '../../support/test-clock.ts';
import { useWorld } from '../../support/use-world.ts';

const clock = () => new TestClock({ movedBy: 'sleeps', startMs: Date.now() });

/** Which routes the service has, and which member of the body a changed setting is found in. */
const DIALECTS = [
  {
    api: 'v0' as const,
    route: '/api/settings',
    changed: (members: object) => members,
    mcp: (members: object) => ({
      shttp_servers: [{ url: 'https://two.example.org/mcp', ...members }],
    }),
    stdio: (members: object) => ({ stdio_servers: [{ name: 'tools', ...members }] }),
  },
  {
    api: 'v1' as const,
    route: '/api/v1/settings',
    changed: (members: object) => ({ conversation_settings_diff: members }),
    mcp: (members: object) => ({ two: { url: 'https://two.example.org/mcp', ...members } }),
    stdio: (members: object) => ({ tools: members }),
  },
];

describe.each(DIALECTS)(
  'settings on a server that speaks $api',
  ({ api, route, changed, mcp, stdio }) => {
    const at = useWorld({ api, spec: 'process', noun: 'settings', clock });
    const settings = () => at.json('get');
    const sent = () => at.server.writes().at(-1)?.body as Record<string, unknown>;

    it('set changes one setting and no other while nothing is stored', async () => {
      const before = await settings();
      await at.ends('set max_iterations=7 --json', {
        out: { max_iterations: 7, changed: true },
        err: `{"notice":"max_iterations: ${api === 'v1' ? '500' : '(unset)'} -> 7"}`,
      });
      expect(await settings()).toEqual({ ...before, max_iterations: 7 });
    });

    it('set changes one setting and no other of stored settings', async () => {
      await at.file('key', 'a-model-key\n');
      await at.ends(
        'set llm_model=openai/gpt-4o llm_api_key=@key language=de max_iterations=40',
        {},
      );
      const before = await settings();
      expect(before).toMatchObject({ llm_api_key: '(set)', language: 'de', max_iterations: 40 });
      at.server.asked.length = 0;
      await at.ends('set max_iterations=8', { writes: [`POST ${route}`] });
      if (api === 'v1') expect(sent()).toEqual(changed({ max_iterations: 8 }));
      else
        expect(sent()).toMatchObject({
          max_iterations: 8,
          language: 'de',
          llm_model: 'openai/gpt-4o',
        });
      expect(JSON.stringify(sent())).not.toMatch(/redacted|\*\*\*|\(set\)/);
      expect(await settings()).toEqual({ ...before, max_iterations: 8 });
    });

    it('set sends nothing when no value differs', async () => {
      await at.ends('set max_iterations=9', {});
      at.server.asked.length = 0;
      const err = '{"notice":"nothing to change"}\n';
      await at.ends('set max_iterations=9 --json', { out: { changed: false }, err, writes: [] });
    });

    it('set reads a secret from a file and from stdin, and prints (changed) in place of the value', async () => {
      await at.file('key', 'first-secret-key\n');
      await at.ends('set llm_api_key=@key', {});
      await at.file('key', 'second-secret-key\n');
      const hides = /first-secret-key|second-secret-key/;
      await at.ends('set llm_api_key=@key --json --debug', {
        err: 'llm_api_key: (set) -> (changed)',
        hides,
      });
      expect(JSON.stringify(sent())).toContain('"second-secret-key"');
      const err = /search_api_key: \((unset|unknown)\) -> \(set\)/;
      await at.ends('set search_api_key=-', { stdin: 'a-search-key\n', err });
      expect(JSON.stringify(sent())).toContain('"search_api_key":"a-search-key"');
    });

    it('set warns of a key that is an ordinary word, from an argument and from a file', async () => {
      const err =
        'warning: the value of llm_api_key cannot be distinguished from ordinary words, so ' +
        'it is not masked in text';
      await at.file('key', 'test');
      await at.ends('set llm_api_key=@key', { err });
      await at.file('settings.json', '{"llm_api_key":"ollama"}');
      await at.ends('set --file settings.json', { err });
      expect((await at.ends('unset llm_api_key', {})).err).not.toContain('ordinary words');
    });

    it('set warns of a key in mcp_config that is an ordinary word, and of no other member', async () => {
      const servers = {
        a: { command: 'true', env: { API_KEY: 'test', MODE: 'test', TOKEN: 'k3y-0f-a-server' } },
      };
      const lists = { stdio_servers: [{ name: 'a', ...servers.a }] };
      await at.file('mcp.json', JSON.stringify(api === 'v0' ? lists : servers));
      const { err } = await at.ends('set mcp_config=@mcp.json', {});
      expect(err.match(/mcp_config[\w.]+ cannot be distinguished/g)).toHaveLength(1);
      expect(err).toContain('.env.API_KEY cannot be distinguished from ordinary words');
    });

    it('set suggests the closest name for an unknown one, as unset and get do', async () => {
      await at.ends('set max_iteration=7', { code: 2, err: 'did you mean max_iterations?' });
      await at.ends('unset llm_modle', { code: 2, err: 'llm_model' });
      await at.ends('get max_iteration', { code: 5, err: 'max_iterations', writes: [] });
    });

    it('set prints the difference before the write, also of a write that fails', async () => {
      await at.ends('set language=it', {});
      at.script({ [`POST ${route}`]: { status: 403, json: {} } });
      const { err } = await at.ends('set language=es --json', { code: 4, out: '' });
      expect(err.split('\n')).toContain('{"notice":"language: it -> es"}');
      expect(err.trim().split('\n').at(-1)).toContain('"error"');
    });

    it('set warns on V0 that an unreadable secret may be lost', async () => {
      await at.ends('set language=it', {});
      const { err } = await at.ends('set language=es', {});
      expect(err.includes('sandbox_api_key')).toBe(api === 'v0');
    });

    it('set replaces a mask by the stored value, or refuses the write', async () => {
      await at.file('mcp.json', mcp({ api_key: 'http-hush', timeout: 30 }));
      await at.ends('set mcp_config=@mcp.json', {});
      await at.file('masked.json', mcp({ api_key: '<redacted>', timeout: 60 }));
      at.server.asked.length = 0;
      if (api === 'v0') {
        // V0 returns the key in clear, so it can be sent back.
        await at.ends('set mcp_config=@masked.json', {});
        expect(JSON.stringify(sent())).toContain('http-hush');
      } else {
        await at.ends('set mcp_config=@masked.json', { code: 6, err: 'two.api_key', writes: [] });
        await at.ends('set mcp_config=@masked.json -y', { code: 6 });
        await at.ends('set mcp_config=@masked.json --allow-loss', {});
      }
      expect(JSON.stringify(sent())).not.toContain('redacted');
      await at.ends('unset mcp_config', {});
      expect((await settings())['mcp_config']).toBeNull();
    });

    it('set --file sets the values of a file, and keeps secrets that are masked in it', async () => {
      await at.ends('set language=it', {});
      const printed = await settings();
      await at.file('settings.json', { ...printed, language: 'fr', llm_api_key: '(set)' });
      const { err } = await at.ends('set --file settings.json', {});
      expect(err.split('\n').filter((line) => line.includes('->'))).toEqual(['language: it -> fr']);
      expect(JSON.stringify(sent())).not.toContain('(set)');
      expect(await settings()).toEqual({ ...printed, language: 'fr' });
    });

    it('set --file accepts the output of get, also with a password in a URL', async () => {
      await at.file(
        'mcp.json',
        mcp({ url: 'https://me:hush-word-1@mcp.example/mcp', api_key: 'hush-word-2' }),
      );
      await at.ends('set mcp_config=@mcp.json', {});
      const { out } = await at.ends('get --json', { hides: 'hush-word' });
      await at.file('printed.json', out.replace(/"max_iterations": \w+/, '"max_iterations": 23'));
      expect((await at.ends('set --file printed.json', {})).err).not.toContain('mcp_config');
      expect(sent()).toMatchObject(changed({ max_iterations: 23 }));
      await at.ends('unset mcp_config max_iterations', {});
    });

    it('MCP servers are stored from a file and shown without their keys, variables and secret arguments', async () => {
      const args = [
        '-y',
        'tools',
        '--api-key=hush-one',
        '--token',
        'hush-two',
        '-e',
        'GITHUB_TOKEN=hush-three',
      ];
      const config = stdio({ command: 'npx', args, env: { TOKEN: 'hush-four' } });
      await at.file('mcp.json', config);
      const hides = 'hush';
      await at.ends('set mcp_config=@mcp.json --dry-run --debug', { hides, writes: [] });
      await at.ends('set mcp_config=@mcp.json', { hides, err: '--api-key=<redacted>' });
      for (const secret of ['hush-three', 'hush-four'])
        expect(JSON.stringify(sent())).toContain(secret);
      await at.ends('set mcp_config=@mcp.json --json', { hides });
      const shown = JSON.stringify((await settings())['mcp_config']);
      expect(shown).toContain(
        '"args":["-y","tools","--api-key=<redacted>","--token","<redacted>","-e","GITHUB_TOKEN=<redacted>"]',
      );
      expect(shown).toContain('"TOKEN":"<redacted>"');
      await at.ends(['set', `mcp_config=${JSON.stringify(config)}`], { code: 2, hides });
      await at.ends('unset mcp_config', {});
    });

    it('unset resets a setting, and sends nothing the second time', async () => {
      await at.ends('set llm_base_url=https://models.example.org/v1', {});
      await at.ends('unset llm_base_url --json', { out: { llm_base_url: null, changed: true } });
      at.server.asked.length = 0;
      await at.ends('unset llm_base_url --json', {
        out: { llm_base_url: null, changed: false },
        writes: [],
      });
    });

    it('unset exits 12 for a setting that the server cannot unset', async () => {
      await at.ends('set user_consents_to_analytics=true', {});
      const err = /error: V[01] servers cannot unset user_consents_to_analytics;/;
      await at.ends('unset user_consents_to_analytics', { code: 12, err });
    });

    it('get prints all settings as rows, and the value alone of a single one', async () => {
      await at.ends('set max_iterations=11 language=de', {});
      const rows = (await at.ends('get', {})).out.split('\n').slice(0, -1);
      expect(rows.length).toBeGreaterThan(10);
      expect(rows.every((line) => line.split('\t').length === 2)).toBe(true);
      await at.ends('get max_iterations', { out: '11\n' });
      await at.ends('get language max_iterations', { out: 'language\tde\nmax_iterations\t11\n' });
      expect(await at.json('get max_iterations')).toEqual({ max_iterations: 11 });
      await at.ends('get max_iterations --format ndjson', { out: '{"max_iterations":11}\n' });
      await at.ends('unset language', {});
      const out = 'max_iterations  11\nlanguage        (unset)\n';
      await at.ends('get max_iterations language --no-color', { columns: 100, out });
    });

    it('get prints on a terminal what is set, whole, and with --all the defaults too', async () => {
      const url = `http://127.0.0.1:1/${'long/'.repeat(8)}v1`;
      await at.ends(`set max_iterations=11 llm_base_url=${url} --no-check`, {});
      const { out } = await at.ends('get --no-color', {
        columns: 50,
        out: /^max_iterations +11\n/m,
        err: /^\d+ more settings have their defaults: acs/m,
      });
      expect(out).toContain(url);
      const all = await at.ends('get --all --no-color', { columns: 50, err: '' });
      expect(all.out.split('\n').length).toBeGreaterThan(out.split('\n').length);
    });

    const refused: [string, string][] = [
      ['max_iterations=many', 'max_iterations: must be a whole number'],
      ['max_iterations=0', 'max_iterations: must be at least 1'],
      ['confirmation_mode=yes', 'confirmation_mode: must be true or false'],
      [
        'remote_runtime_resource_factor=3',
        'remote_runtime_resource_factor: must be one of 1, 2, 4, 8',
      ],
      ['mcp_config={"sse_servers":[', 'mcp_config: is not valid JSON'],
      [
        'secrets_store={}',
        'secrets_store: is changed with acs secret set and acs git-provider set',
      ],
      ['secrets_store=[]', 'secrets_store: must be an object'],
      ['llm_api_key=-  search_api_key=-', 'stdin'],
      ['language=de language=en', 'language'],
      ['llm_model=- --file -', 'stdin'],
      ['', ''],
      ['llm_api_key=sk-hush --json', '"code":"usage"'],
      [
        'mcp_config={"shttp_servers":[{"url":"http://x.example","api_key":"sk-hush"}]} --json',
        '"code":"usage"',
      ],
      ['max_iterations=7 -q', 'settings have no ids'],
    ];
    it.each(refused)('set %s exits 2 before any request', async (line, err) => {
      await at.ends(`set ${line}`, {
        code: 2,
        err: err === '' ? [] : err,
        requests: 0,
        hides: 'sk-hush',
      });
    });

    at.rows({
      'get -q exits 2 before any request': {
        acs: 'get -q',
        code: 2,
        err: 'settings have no ids',
        requests: 0,
      },
      'unset -q exits 2 before any request': { acs: 'unset language -q', code: 2, requests: 0 },
      'edit exits 2 off a terminal': { acs: 'edit', code: 2 },
      'set exits 3 when a file cannot be read': {
        acs: 'set llm_model=@nowhere',
        code: 3,
        err: /^error: cannot read nowhere: it does not exist\n {2}check the path; full path: \/.+\n$/,
      },
      'set exits 2 for the MCP form of the other dialect and names the form of this server': {
        acs:
          'set ' +
          `mcp_config=${api === 'v0' ? '{"two":{"url":"https://x.example"}}' : '{"sse_servers":[{"url":"https://x.example"}]}'}`,
        code: 2,
        err:
          api === 'v0'
            ? 'V0 servers have sse_servers, shttp_servers'
            : 'this server has {"<name>": {"url"',
        writes: [],
      },
      'set --dry-run prints the request and stores nothing': {
        acs: 'set max_iterations=99 --dry-run --json',
        out: {
          dry_run: true,
          requests: [{ method: 'POST', url: expect.stringMatching(`${route}$`) as string }],
        },
        writes: [],
      },
      'schema lists the fields that can be set': {
        acs: 'schema max_iterations llm_api_key --json',
        out: {
          items: [
            { name: 'max_iterations', type: 'integer', secret: false, minimum: 1 },
            { name: 'llm_api_key', type: 'string', secret: true, minimum: null },
          ],
          has_more: false,
        },
      },
      'schema -q prints the names': { acs: 'schema -q', out: /^language\nagent\nmax_iterations\n/ },
    });

    it('set names the place of a mistake in a file', async () => {
      await at.file('broken.json', '{\n  "language": de\n}');
      await at.ends('set --file broken.json', {
        code: 2,
        err: 'error: broken.json is not valid JSON',
      });
      await at.file('list.json', '[]');
      await at.ends('set --file list.json', {
        code: 2,
        err: 'list.json must contain a JSON object of settings',
      });
    });

    it.each(
      api === 'v1'
        ? [['enable_solvability_analysis=false', 'V0']]
        : [
            ['git_full_clone=true', 'V1'],
            ['agent_settings.llm.num_retries=2', 'V1'],
          ],
    )('set %s exits 12 and names the dialect that has it', async (word, owner) => {
      await at.ends(`set ${word}`, { code: 12, err: `${owner} servers do` });
    });
  },
);

describe('settings of V1', () => {
  const at = useWorld({ api: 'v1', spec: 'process', noun: 'settings', clock });

  it('may be a nested path, and the path of a flat name is that name', async () => {
    await at.ends(
      'set agent_settings.llm.num_retries=2 conversation_settings.max_iterations=8 --json',
      {
        out: { 'agent_settings.llm.num_retries': 2, max_iterations: 8 },
      },
    );
    expect(at.server.writes()[0]?.body).toEqual({
      agent_settings_diff: { llm: { num_retries: 2 } },
      conversation_settings_diff: { max_iterations: 8 },
    });
  });

  it('a bare secret is asked for on a terminal, and is exit 2 off one', async () => {
    await at.ends('set llm_api_key --no-color', {
      answers: ['typed-model-key'],
      out: '',
      err: 'llm_api_key: (unset) -> (set)',
      hides: 'typed-model-key',
    });
    await at.ends('set llm_api_key', { code: 2 });
    await at.ends('set llm_model', { code: 2 });
  });
});

describe('settings edit', () => {
  const at = useWorld({ api: 'v1', spec: 'process', noun: 'settings', clock });

  /**
   * Edits with a program that is handed the file; its text is a function of the file's text and how
   * often it ran.
   */
  const edit = async (change: string, ending: Parameters<typeof at.ends>[1]) => {
    const counter = JSON.stringify(`${at.dir}/count-${change.length}`);
    await at.file(
      'editor.mjs',
      `import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
       appendFileSync(${counter}, 'x');
       const time = readFileSync(${counter}, 'utf8').length;
       const text = readFileSync(process.argv[2], 'utf8');
       writeFileSync(process.argv[2], ((text, time) => ${change})(text, time));`,
    );
    const env = { EDITOR: `${process.execPath} ${at.dir}/editor.mjs`, VISUAL: '' };
    return at.ends('edit --json', { columns: 100, env, ...ending });
  };

  it('writes what was changed in the file, and nothing else', async () => {
    const err = 'max_iterations: 500 -> 21';
    const out = { max_iterations: 21, changed: true };
    await edit(`text.replace('"max_iterations": 500', '"max_iterations": 21')`, { out, err });
    await edit('text', { out: { changed: false }, err: 'nothing to change' });
    // A setting whose line was removed stays as it is.
    await edit(`JSON.stringify({ language: 'de' }) + text.slice(0, 0)`, {
      out: { ...out, language: 'de' },
    });
  });

  it('shows no secret in the file', async () => {
    await at.ends('set llm_api_key=-', { stdin: 'hidden-model-key' });
    await edit(`/api_key":|secret|hidden-model-key/.test(text) ? 'seen' : text`, {});
  });

  it('opens the editor again after a mistake, and exits 2 when it remains', async () => {
    await edit(
      `time === 1 ? text.replace(/"max_iterations": \\w+/, '"max_iterations": "x"') : ` +
        `text.replace('"x"', '34')`,
      {
        stdin: '\n',
        err: 'max_iterations: must be a whole number',
        out: { max_iterations: 34, changed: true },
      },
    );
    await edit(`'{ no JSON'`, { stdin: 'n\n', code: 2, err: 'nothing was changed' });
  });
});

const MCP = { shttp_servers: [{ url: 'https://mcp.example.org/', api_key: 'mcp-key' }] };
const OF_AGENT = {
  agent: 'BrowsingAgent',
  llm_model: 'openai/gpt-4o',
  llm_api_key: 'model-key',
  llm_base_url: 'https://models.example.org/v1',
  enable_default_condenser: false,
};
const OF_CONVERSATION = { max_iterations: 7, security_analyzer: 'none', confirmation_mode: true };
const TOP = {
  language: 'de',
  remote_runtime_resource_factor: 2,
  enable_sound_notifications: true,
  enable_proactive_conversation_starters: false,
  user_consents_to_analytics: true,
  sandbox_base_container_image: 'example.org/base:1',
  sandbox_runtime_container_image: 'example.org/runtime:1',
  search_api_key: 'search-key',
  sandbox_api_key: 'sandbox-key',
  max_budget_per_task: 2.5,
  email: 'user@example.org',
  email_verified: true,
  git_user_name: 'A User',
  git_user_email: 'git@example.org',
};
/** All fields but `secrets_store`, which servers do not take. */
const OF_BOTH = { ...OF_AGENT, ...OF_CONVERSATION, ...TOP };

describe.each([
  ['v0', { ...OF_BOTH, enable_solvability_analysis: false, mcp_config: MCP }, null],
  [
    'v1',
    { ...OF_BOTH, mcp_config: { one: MCP.shttp_servers[0] } },
    {
      ...TOP,
      agent_settings_diff: {
        agent: OF_AGENT.agent,
        llm: {
          model: OF_AGENT.llm_model,
          api_key: OF_AGENT.llm_api_key,
          base_url: OF_AGENT.llm_base_url,
        },
        mcp_config: expect.anything() as unknown,
        condenser: { enabled: false },
      },
      conversation_settings_diff: OF_CONVERSATION,
    },
  ],
] as const)('every field of the settings in %s', (api, values, body) => {
  const at = useWorld({ api, spec: 'process', noun: 'settings', clock });

  it('is sent to its place, and returned', async () => {
    await at.file('settings.json', values);
    await at.ends('set --file settings.json', {});
    const sent = at.server.writes()[0]?.body;
    expect(sent).toEqual(body ?? values);
    expect(JSON.stringify(sent)).toContain('mcp-key');
    const shown = await at.json('get');
    const { mcp_config: _, sandbox_api_key: __, ...plain } = values;
    expect(shown).toMatchObject({ ...plain, llm_api_key: '(set)', search_api_key: '(set)' });
    expect(JSON.stringify(shown)).not.toMatch(/model-key|search-key|sandbox-key|mcp-key/);
  });
});
