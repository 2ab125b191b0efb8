import { readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { start } from '../e2e/processes.ts';
import {
  NOT_FOUND,
  startFake,
  startProxy,
  untilTestEnds,
  type Handler,
  type Reply,
} from '../support/server.ts';
import { until } from '../support/test-clock.ts';
import { useWorld } from '../support/use-world.ts';
import { PACKAGE_ROOT, type Invocation } from '../support/world.ts';

interface CheckJson {
  id: string;
  status: 'pass' | 'warn' | 'fail' | 'skip';
  text: string;
  hint: string | null;
  data: Record<string, unknown> | null;
}

const ALL = [
  ...[
    'store',
    'config',
    'environment',
    'connection',
    'server',
    'key',
    'clock',
    'model',
    'sandboxes',
    'server-git',
    'automations',
  ],
  ...['local-service', 'disk', 'isolation', 'node', 'git'],
];
const LOG_HINT = 'check the URL (http or https, port, path) and the log of the server';

const at = useWorld({ spec: 'process', target: 'none' });
/** The server with its key. */
const healthy = () => ({ ACS_BASE_URL: at.server.url, ACS_API_KEY: at.world.service.key });

function read({ code, out, err }: { code: number | null; out: string; err: string }) {
  const { items } = (out === '' ? { items: [] } : JSON.parse(out)) as { items: CheckJson[] };
  const checks = Object.fromEntries(items.map((item) => [item.id, item])) as Record<
    string,
    CheckJson
  >;
  const ids = (status: CheckJson['status']) =>
    items.filter((item) => item.status === status).map(({ id }) => id);
  return { code, out, err, checks, ids, failed: ids('fail') };
}

async function doctor(env: Record<string, string>, line = '', more: Partial<Invocation> = {}) {
  const args = ['doctor', '--json', ...line.split(' ').filter(Boolean)];
  return read(
    await at.invoke({
      ...more,
      args,
      env: { ACS_DATA_DIR: path.join(at.dir, 'no-service'), ...env },
    }),
  );
}

const tlsFile = (name: string) => path.join(PACKAGE_ROOT, 'test/fixtures/tls', name);
/** @param certificate a file of test/fixtures/tls */
const startTls = (certificate: string, handler: Handler) =>
  startFake(handler, {
    key: readFileSync(tlsFile('key.pem')),
    cert: readFileSync(tlsFile(certificate)),
  });

describe('doctor and the profile store', () => {
  const store = async (text: string, mode = 0o600): Promise<string> => {
    await mkdir(at.configDir, { mode: 0o700 });
    await writeFile(path.join(at.configDir, 'profiles.json'), text, { mode });
    return `${at.configDir}/profiles.json`;
  };
  const work = JSON.stringify({
    default: null,
    profiles: { work: { base_url: 'http://127.0.0.1:1', created_at: '' } },
  });

  it('passes a store that only its owner can read, and counts the profiles', async () => {
    const file = await store(work);
    const { checks } = await doctor(healthy());
    expect(checks.store).toMatchObject({ status: 'pass', text: `${file}: 1 profile, mode 0600` });
  });

  it('warns of a store that others can read, with the mode it had', async () => {
    await store(work, 0o644);
    const { code, checks } = await doctor(healthy());
    expect({ code, store: checks.store }).toMatchObject({ code: 0, store: { status: 'warn' } });
    expect(checks.store?.text).toContain('(mode 0644)');
  });

  it('fails store alone when the file is corrupt', async () => {
    await store('{');
    const named = await doctor(healthy());
    expect({ failed: named.failed, key: named.checks.key?.status }).toEqual({
      failed: ['store'],
      key: 'pass',
    });
    const { failed, checks } = await doctor({});
    expect(failed).toEqual(['store']);
    for (const id of ['config', 'connection'])
      expect(checks[id]?.text).toBe('not checked: store failed');
  });
});

describe('doctor at a server that works', () => {
  it('has no failed check, and each check once in a fixed order', async () => {
    const { code, out, err, failed, ids, checks } = await doctor(healthy());
    expect({ code, err, failed }).toEqual({ code: 0, err: '', failed: [] });
    expect(Object.keys(checks)).toEqual(ALL);
    expect(JSON.parse(out)).toMatchObject({ has_more: false });
    expect(ids('pass')).toEqual(
      expect.arrayContaining([
        'config',
        'connection',
        'server',
        'key',
        'clock',
        'sandboxes',
        'disk',
        'node',
        'git',
      ]),
    );
    expect(checks.server?.data).toMatchObject({ dialects: ['v1', 'v0'], flavour: 'local' });
    expect(checks.config?.text).toBe(`${at.server.url} from ACS_BASE_URL; key from ACS_API_KEY`);
    expect(out).not.toContain(at.world.service.key);
  });

  it('checks the same with --dry-run, because it only reads', async () => {
    const { code, checks } = await doctor(healthy(), '--dry-run');
    expect({ code, clock: checks.clock?.status }).toEqual({ code: 0, clock: 'pass' });
  });

  it('counts the sandboxes that run', async () => {
    const sandbox = { id: 'sandbox-1', status: 'RUNNING', created_at: '2026-03-01T10:00:00Z' };
    const items = [sandbox, { ...sandbox, id: 'sandbox-2', status: 'PAUSED' }];
    at.script({ '/api/v1/sandboxes/search': { json: { items, next_page_id: null } } });
    const { checks } = await doctor(healthy());
    expect(checks.sandboxes).toMatchObject({ status: 'pass', data: { running: 1, total: 2 } });
  });

  it('writes nothing: neither the profile store, nor what the probe finds, nor data of the local service', async () => {
    const home = path.join(at.dir, 'untouched');
    await mkdir(home);
    const env = {
      HOME: home,
      ACS_CONFIG_DIR: path.join(home, 'config'),
      ACS_DATA_DIR: path.join(home, 'data'),
    };
    await doctor({ ...healthy(), ...env });
    await doctor(env, '-p local');
    expect(await readdir(home)).toEqual([]);
  });

  it('prints one line for each check on a terminal, with the word besides the symbol, and the sum on stderr', async () => {
    const { out } = await at.ends('doctor --no-color', {
      columns: 80,
      env: healthy(),
      err: /\d+ passed, \d+ warnings?, 0 failed, \d+ skipped\n$/,
    });
    expect(out).toMatch(/^✓ pass {2}config {9}http:/m);
    expect(out).toMatch(/^- skip {2}model {10}no model is set: conversations need a replay$/m);
    expect(out).toContain('acs settings set llm_model=<model>');
    // A path stands whole, so that it can be copied, however long it is.
    for (const line of out.split('\n'))
      expect(line.length <= 80 || /^\s*\S+$/.test(line), line).toBe(true);
  });

  it('prints id, status, text and hint as tsv in a pipe', async () => {
    const { out } = await at.ends('doctor', { env: healthy() });
    expect(out.split('\n').map((line) => line.split('\t')[0])).toEqual([...ALL, '']);
    expect(out).toContain(
      '\nmodel\tskip\tno model is set: conversations need a replay\tacs settings set llm_model=',
    );
  });
});

describe('doctor with a wrong configuration', () => {
  it('fails key alone when the key is missing or wrong', async () => {
    const missing = await doctor({ ACS_BASE_URL: at.server.url });
    expect({ code: missing.code, failed: missing.failed }).toEqual({ code: 1, failed: ['key'] });
    expect(missing.checks.key).toMatchObject({ text: 'the server requires an API key' });
    expect(missing.checks.key?.hint).toContain('--api-key-file');
    const { code, failed, checks, out, err } = await doctor({
      ...healthy(),
      ACS_API_KEY: 'not-the-right-key',
    });
    expect({ code, failed }).toEqual({ code: 1, failed: ['key'] });
    expect(checks.key?.text).toBe('the server refuses the key from ACS_API_KEY');
    expect(checks.model?.text).toBe('not checked: key failed');
    expect(out + err).not.toContain('not-the-right-key');
  });

  it.each<[string, Reply, string | null, string]>([
    ['is a web page', { text: '<h1>hello</h1>', type: 'text/html' }, null, 'text/html'],
    [
      'redirects to another origin',
      { status: 301, headers: { location: 'https://acs.example/x?token=t' }, none: true },
      'if that is your server, use it as the URL: https://acs.example',
      '',
    ],
    [
      'is a gateway without a server behind it',
      { status: 502, none: true },
      'the server may be starting: try again in a minute',
      '',
    ],
    ['answers every request with 500', { status: 500, none: true }, LOG_HINT, ''],
  ])('fails server with a next step when the server %s', async (_, reply, hint, text) => {
    at.script(() => reply);
    const { code, failed, checks } = await doctor(healthy());
    const connection = checks.connection?.status;
    expect({ code, failed, connection }).toEqual({
      code: 1,
      failed: ['server'],
      connection: 'pass',
    });
    if (hint !== null) expect(checks.server?.hint).toBe(hint);
    expect(checks.server?.text).toContain(text);
    for (const id of ['key', 'clock']) expect(checks[id]?.text).toBe('not checked: server failed');
  });

  it('warns that V1 is missing at a server with V0 alone', async () => {
    at.script({
      '/openapi.json': {
        json: { info: { version: '0.62.0' }, paths: { '/api/conversations': {} } },
      },
      '/api/v1/web-client/config': NOT_FOUND,
      '/api/options/config': { json: { APP_MODE: 'oss' } },
    });
    const { server } = (await doctor(healthy())).checks;
    expect(server).toMatchObject({
      status: 'warn',
      text: 'OpenHands 0.62.0 (self-hosted), V0: V1 is missing',
    });
  });

  it('fails server alone at the agent server of a sandbox', async () => {
    at.script(({ path }) =>
      path === '/server_info'
        ? { json: { title: 'OpenHands Agent Server', version: '1.20.0' } }
        : NOT_FOUND,
    );
    const { code, failed, checks } = await doctor(healthy());
    expect({ code, failed }).toEqual({ code: 1, failed: ['server'] });
    expect(checks.server?.text).toContain('agent server in a sandbox');
  });

  it('warns of a clock that differs by more than a minute, with the measured value', async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    at.script(() => ({ pass: at.world.service.url, change: (headers) => ({ ...headers, date }) }));
    const { code, checks } = await doctor(healthy());
    expect({ code, clock: checks.clock?.status }).toEqual({ code: 0, clock: 'warn' });
    expect(checks.clock?.text).toMatch(
      /^the clock of this machine is 3[56]\d\d s behind that of the server$/,
    );
    expect(Math.abs(Number(checks.clock?.data?.['skew_seconds']) - 3600)).toBeLessThan(60);
  });

  it('fails config when no server is configured, and skips what needs one', async () => {
    const { code, failed, checks } = await doctor({});
    expect({ code, failed, git: checks.git?.status }).toEqual({
      code: 1,
      failed: ['config'],
      git: 'pass',
    });
    expect(checks.connection?.text).toBe('not checked: config failed');
  });

  it('fails config for a profile that does not exist', async () => {
    expect(await doctor({}, '-p nowhere')).toMatchObject({
      code: 1,
      checks: { config: { status: 'fail' } },
    });
  });

  it('warns of variables that contradict each other', async () => {
    const env = {
      ...healthy(),
      OPENHANDS_API_KEY: 'another-key',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    };
    const { checks, out } = await doctor(env);
    expect(checks.environment?.status).toBe('warn');
    expect(checks.environment?.text).toContain(
      'ACS_API_KEY and OPENHANDS_API_KEY have different keys',
    );
    expect(checks.environment?.text).toContain('certificates are not checked');
    expect(out).not.toContain('another-key');
  });
});

describe('doctor without a server', () => {
  it('passes with the local profile while its service is not running, and does not start it', async () => {
    const { code, failed, checks } = await doctor({}, '-p local');
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(checks.connection?.text).toBe('not checked: the local service is not running');
    expect(checks['local-service']).toMatchObject({ status: 'pass', data: { running: false } });
  });

  it.each([
    ['local', 'fail', 'file/data', 'a part of the path is not a directory'],
    ['remote', 'warn', 'file/data', 'a part of the path is not a directory'],
    ['local', 'fail', '/proc/data', 'it cannot be created'],
  ])(
    'at a %s server has the result %s when data cannot be stored in %s',
    async (server, status, dir, why) => {
      await writeFile(path.join(at.dir, 'file'), '');
      const dataDir = path.resolve(at.dir, dir);
      const env = {
        ...(server === 'local' ? { ACS_PROFILE: 'local' } : healthy()),
        ACS_DATA_DIR: dataDir,
      };
      const { code, checks } = await doctor(env);
      const text = `cannot use the data directory ${dataDir}: ${why}`;
      expect({ code, ...checks['local-service'] }).toMatchObject({
        code: status === 'fail' ? 1 : 0,
        status,
        text,
      });
    },
  );

  it('warns of a local service with another version than acs, and names the command that ends it', async () => {
    const before = await readdir(at.world.dataDir);
    const { checks } = await doctor({ ACS_DATA_DIR: at.world.dataDir }, '-p local');
    expect(await readdir(at.world.dataDir)).toEqual(before);
    expect(checks['local-service']).toMatchObject({
      status: 'warn',
      data: {
        running: true,
        url: at.world.service.url,
        version: '0.0.0-test',
        data_dir: at.world.dataDir,
      },
      hint: expect.stringContaining('acs serve --stop') as string,
    });
  });

  it('warns where bubblewrap and git are not installed, with the reason', async () => {
    const { checks } = await doctor({ PATH: at.dir }, '-p local');
    expect(checks.isolation).toMatchObject({
      status: 'warn',
      data: { state: 'unavailable' },
      text: 'the local service cannot isolate sandboxes: bubblewrap (bwrap) is not installed',
      hint: expect.stringMatching(
        /^install bubblewrap.*\n.*--spec process --confirm always$/,
      ) as string,
    });
    expect(checks.git).toMatchObject({ status: 'warn', text: 'git is not installed' });
  });
});

describe('doctor at a server that cannot be reached', () => {
  it.each<[string, Reply | 'tls', RegExp, RegExp, string?]>([
    ['cuts the connection', { cut: true }, /was cut$/, /the log of the server/],
    [
      'sends nothing',
      { silence: true },
      /sent nothing for 0\.3 s$/,
      /--request-timeout/,
      '--request-timeout 300ms',
    ],
    [
      'has a certificate of an unknown authority',
      'tls',
      /\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
      /NODE_EXTRA_CA_CERTS/,
    ],
    ['does not speak TLS', { status: 400, none: true }, /TLS .* failed/, /does not speak TLS/],
  ])(
    'fails connection with the next step when the server %s',
    async (what, reply, text, hint, line = '') => {
      const server =
        reply === 'tls'
          ? await startTls('valid.pem', () => ({ json: {} }))
          : await startFake(() => reply);
      const url =
        what === 'does not speak TLS' ? server.url.replace('http:', 'https:') : server.url;
      const { code, failed, checks } = await doctor({ ACS_BASE_URL: url }, line);
      await server.close();
      expect({ code, failed }).toEqual({ code: 1, failed: ['connection'] });
      expect(checks.connection?.text).toMatch(text);
      expect(checks.connection?.hint).toMatch(hint);
      for (const id of ['server', 'key', 'clock', 'model', 'sandboxes'])
        expect(checks[id]).toMatchObject({
          status: 'skip',
          text: 'not checked: connection failed',
        });
    },
  );

  it.each([
    [
      'http://127.0.0.1:9',
      'nothing listens at 127.0.0.1:9 (connection refused)',
      'check that the server runs and the port is right',
    ],
    ['https://no-such-host.invalid', 'the name no-such-host.invalid cannot be resolved', ''],
  ])('fails connection at %s', async (url, text, hint) => {
    const { failed, checks } = await doctor({}, `--base-url ${url}`);
    expect({ failed, text: checks.connection?.text }).toEqual({ failed: ['connection'], text });
    expect(checks.connection?.hint).toContain(hint);
  });
});

describe('doctor as a process', () => {
  const run = (url: string, certificate: string) =>
    start(['doctor', '--json', '--base-url', url], {
      env: {
        PATH: process.env.PATH,
        HOME: at.dir,
        ACS_CONFIG_DIR: at.dir,
        ACS_DATA_DIR: path.join(at.dir, 'none'),
        NODE_EXTRA_CA_CERTS: tlsFile(certificate),
      },
    });

  it.each([
    ['valid.pem', 'pass', / answers$/, /^$/],
    ['expired.pem', 'fail', /\(CERT_HAS_EXPIRED\)/, /^renew the certificate on the server/],
  ])(
    'trusts the authority that NODE_EXTRA_CA_CERTS names: %s',
    async (certificate, status, text, hint) => {
      const server = await startTls(certificate, () => ({ pass: at.world.service.url }));
      const { connection } = read(await run(server.url, certificate).ended).checks;
      await server.close();
      expect(connection?.status).toBe(status);
      expect(connection?.text).toMatch(text);
      expect(connection?.hint ?? '').toMatch(hint);
    },
  );

  it('exits with 130 at Ctrl-C while a server is silent, and prints nothing to stdout', async () => {
    at.script(() => ({ silence: true }));
    const { child, ended } = run(at.server.url, 'valid.pem');
    await until(() => at.server.asked.length > 0);
    child.kill('SIGINT');
    const { code, out } = await ended;
    expect({ code, out }).toEqual({ code: 130, out: '' });
  });
});

describe('doctor with a proxy', () => {
  it('passes when the proxy connects, and shows neither its user name nor its password', async () => {
    const proxy = await untilTestEnds(startProxy());
    const { port } = new URL(at.server.url);
    const HTTP_PROXY = proxy.url.replace('//', '//me:hush-hush@');
    const env = { ...healthy(), ACS_BASE_URL: `http://acs.invalid:${port}`, HTTP_PROXY };
    const { code, failed, checks, out, err } = await doctor(env);
    expect({ code, failed, key: checks.key?.status }).toEqual({ code: 0, failed: [], key: 'pass' });
    expect(checks.connection).toMatchObject({
      status: 'warn',
      hint: 'use https, or a tunnel such as ssh -L',
    });
    const key = `Basic ${Buffer.from('me:hush-hush').toString('base64')}`;
    expect(proxy.asked[0]).toEqual({ url: `acs.invalid:${port}`, key });
    expect(out + err).not.toMatch(/hush-hush/);
  });

  it.each([
    [403, /^check HTTP_PROXY/],
    [407, /^put a user name and password in HTTP_PROXY/],
  ])('fails connection when the proxy answers %i', async (status, hint) => {
    const proxy = await untilTestEnds(startProxy({ status }));
    const { failed, checks } = await doctor(
      { http_proxy: proxy.url },
      '--base-url http://acs.invalid',
    );
    expect(failed).toEqual(['connection']);
    expect(checks.connection?.text).toBe(
      `the proxy did not connect to acs.invalid (it answered ${status})`,
    );
    expect(checks.connection?.hint).toMatch(hint);
  });

  it('fails connection when no proxy listens, and when the variable is not the URL of a proxy', async () => {
    const none = await doctor(
      { HTTPS_PROXY: 'http://127.0.0.1:9' },
      '--base-url https://acs.invalid',
    );
    expect(none.failed).toEqual(['connection']);
    expect(none.checks.connection?.text).toMatch(/^nothing listens at the proxy /);
    const { failed, checks } = await doctor(
      { HTTP_PROXY: 'proxy:3128:1' },
      '--base-url http://acs.invalid',
    );
    expect(failed).toEqual(['connection']);
    expect(checks.connection?.text).toBe('the URL of the proxy for acs.invalid is not valid');
    const text = 'HTTP_PROXY is not a URL such as http://proxy.example:3128';
    expect(checks.environment).toMatchObject({ status: 'warn', text });
  });

  it('never uses the proxy for a server on this machine', async () => {
    const { checks } = await doctor({ ...healthy(), HTTP_PROXY: 'http://proxy.invalid:1' });
    expect(checks.key?.status).toBe('pass');
  });
});
