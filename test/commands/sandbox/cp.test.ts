import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pack, type Pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { invoke, PACKAGE_ROOT, type Ended, type Invocation } from '../../support/world.ts';
import { AgentFiles } from './agent-files.ts';
import { record, useOddServer } from './odd-server.ts';

const ID = 'boxboxboxboxboxboxbox1';
const NAMES = ['plain', 'with space', `quote'"\\`, 'new\nline', 'ümläut 名', '-dash', `${'l'.repeat(200)}`, 'a:b', '*'];

const server = useOddServer();
let dir: string;
let here: string;
let box: string;
let agent: AgentFiles;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-cp-test-'));
  here = path.join(dir, 'here');
  mkdirSync(here);
  await useAgent(new AgentFiles(path.join(dir, 'box')));
});
afterEach(async () => {
  await agent.close();
  execFileSync('chmod', ['-R', 'u+rwx', dir]);
  rmSync(dir, { recursive: true });
});

async function useAgent(started: AgentFiles): Promise<void> {
  agent = started;
  box = agent.box;
  const exposed_urls = [{ name: 'AGENT_SERVER', url: await agent.listen() }];
  server.sandboxes = [record(ID, 'RUNNING', { exposed_urls, session_api_key: 'session', sandbox_spec_id: null })];
}

function cp(...args: string[]): Promise<Ended> {
  return run({ args });
}

function run({ args, ...invocation }: Invocation): Promise<Ended> {
  const env = { ACS_BASE_URL: server.fake.url, ACS_API_KEY: 'key', ACS_CONFIG_DIR: path.join(dir, 'config') };
  return invoke({ cwd: here, env, ...invocation, args: ['sandbox', 'cp', ...args] });
}

/** What is in a folder: names with their content, mode or target. */
function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (name: string): void => {
    const full = path.join(folder, name);
    const { mode } = lstatSync(full);
    if (lstatSync(full).isSymbolicLink()) found[name] = `-> ${readlinkSync(full)}`;
    else if (lstatSync(full).isFile()) found[name] = `${(mode & 0o111) === 0 ? '' : 'x '}${readFileSync(full, 'utf8')}`;
    else {
      found[`${name}/`] = (mode & 0o777).toString(8);
      for (const child of readdirSync(full)) visit(path.join(name, child));
    }
  };
  visit('.');
  return found;
}

function put(root: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const full = path.join(root, name);
    mkdirSync(path.dirname(full), { recursive: true });
    if (name.endsWith('/')) mkdirSync(full, { recursive: true });
    else if (content.startsWith('-> ')) symlinkSync(content.slice(3), full);
    else writeFileSync(full, content.replace(/^x /, ''), { mode: content.startsWith('x ') ? 0o755 : 0o644 });
  }
}

const SOURCE = {
  ...Object.fromEntries(NAMES.map((name) => [`names/${name}`, name])),
  'tool.sh': 'x #!/bin/sh\n',
  'empty.txt': '',
  'empty/': '',
  'deep/er/file': 'deep',
  'deep/link': '-> er/file',
  'deep/er/up': '-> ../../tool.sh',
};

describe('sandbox cp copies', () => {
  it.each([...NAMES, 'tool'])('a file named %j to the sandbox and back, with its bytes and its name', async (name) => {
    const bytes = Buffer.from(Uint8Array.from({ length: 70_001 }, (_, index) => (index * 31) % 256));
    writeFileSync(path.join(here, name), bytes, { mode: name === 'tool' ? 0o755 : 0o644 });
    expect(await cp(`./${name}`, `${ID}:`)).toMatchObject({ code: 0 });
    expect(readFileSync(path.join(box, name)).equals(bytes)).toBe(true);
    expect(statSync(path.join(box, name)).mode & 0o777).toBe(name === 'tool' ? 0o755 : 0o644);
    const { code, out } = await cp(`${ID}:${name}`, './back', '--json');
    const to = path.join(here, 'back');
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: { from: `${ID}:${path.join(box, name)}`, to, files: 1, bytes: 70_001, changed: true },
    });
    expect(readFileSync(to).equals(bytes)).toBe(true);
    expect(statSync(to).mode & 0o777).toBe(name === 'tool' ? 0o755 : 0o644);
    expect([readdirSync(path.join(box, '.tmp')), readdirSync(here).sort()]).toEqual([[], ['back', name].sort()]);
  });

  it('a folder to the sandbox and back, with modes, links, empty folders and every name', async () => {
    put(path.join(here, 'source'), SOURCE);
    chmodSync(path.join(here, 'source/deep/er'), 0o555);
    const { code, out } = await cp('source', `${ID}:copy`, '--json');
    const files = Object.keys(SOURCE).length - 1;
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({
      code: 0,
      out: { files, to: `${ID}:${box}/copy` },
    });
    expect(tree(path.join(box, 'copy'))).toEqual(tree(path.join(here, 'source')));
    expect(await cp(`${ID}:copy`, 'back')).toMatchObject({ code: 0, err: '' });
    expect(tree(path.join(here, 'back'))).toEqual(tree(path.join(here, 'source')));
    expect([readdirSync(box).sort(), readdirSync(path.join(box, '.tmp')), readdirSync(here).sort()]).toEqual([
      ['.tmp', 'copy'],
      [],
      ['back', 'source'],
    ]);
  });

  it('into a folder that is there, merges with one of the same name, and /. copies what is in a folder', async () => {
    put(here, { 'src/new': 'new', 'src/both': 'x here', 'src/sub/one': '1' });
    put(box, { 'dst/src/both': 'there', 'dst/src/kept': 'kept', 'dst/src/sub/two': '2' });
    expect(await cp('src', `${ID}:dst`)).toMatchObject({ code: 0 });
    const merged = {
      './': '755',
      both: 'x here',
      kept: 'kept',
      new: 'new',
      'sub/': '755',
      'sub/one': '1',
      'sub/two': '2',
    };
    expect(tree(path.join(box, 'dst/src'))).toEqual(merged);
    put(here, { 'back/src/both': 'old', 'back/src/mine': 'mine' });
    expect(await cp(`${ID}:dst/src`, 'back')).toMatchObject({ code: 0 });
    expect(tree(path.join(here, 'back/src'))).toEqual({ ...merged, mine: 'mine' });
    expect(await cp(`${ID}:dst/src/sub/.`, 'back')).toMatchObject({ code: 0 });
    expect(await cp('src/sub/.', `${ID}:dst`)).toMatchObject({ code: 0 });
    expect([tree(path.join(here, 'back'))['two'], tree(path.join(box, 'dst'))['one']]).toEqual(['2', '1']);
  });

  it('a file over a file, which keeps its mode, and through a link to a file', async () => {
    put(here, { new: 'new', old: 'old', link: '-> old' });
    put(box, { new: 'far', old: 'old', link: '-> old' });
    for (const root of [here, box]) chmodSync(path.join(root, 'old'), 0o600);
    expect(await cp('new', `${ID}:link`)).toMatchObject({ code: 0 });
    expect(await cp(`${ID}:new`, 'link')).toMatchObject({ code: 0 });
    expect([tree(box)['old'], tree(box)['link'], tree(here)['old'], tree(here)['link']]).toEqual([
      'new',
      '-> old',
      'far',
      '-> old',
    ]);
    for (const root of [here, box]) expect(statSync(path.join(root, 'old')).mode & 0o777).toBe(0o600);
  });

  it('stdin to a file, and a file to stdout with nothing else', async () => {
    expect(await run({ args: ['-', `${ID}:in.txt`], stdin: 'from stdin' })).toMatchObject({ code: 0 });
    expect(await cp(`${ID}:in.txt`, '-')).toMatchObject({ code: 0, out: 'from stdin', err: '' });
    expect(await run({ args: ['-', `${ID}:`], stdin: 'x' })).toMatchObject({ code: 2 });
    expect(await cp(`${ID}:in.txt`, '-', '--json')).toMatchObject({ code: 2 });
    expect(readdirSync(box).sort()).toEqual(['.tmp', 'in.txt']);
  });

  it('over the path form of the routes of agent server 1.11', async () => {
    await agent.close();
    await useAgent(new AgentFiles(path.join(dir, 'old'), { routes: 'path' }));
    put(here, { 'a ü%.txt': 'old form' });
    expect(await cp('a ü%.txt', `${ID}:`)).toMatchObject({ code: 0 });
    expect(await cp(`${ID}:a ü%.txt`, '-')).toMatchObject({ out: 'old form' });
  });

  it('leaves out links that lead out and devices, and says so', async () => {
    const odd = {
      'odd/out': '-> /etc/passwd',
      'odd/climb': '-> sub/../../x',
      'odd/in': '-> sub/file',
      'odd/sub/file': 'x',
    };
    for (const root of [here, box]) {
      put(root, odd);
      execFileSync('mkfifo', [path.join(root, 'odd/pipe')]);
    }
    const kept = { './': '755', in: '-> sub/file', 'sub/': '755', 'sub/file': 'x' };
    const up = await cp('odd', `${ID}:up`);
    expect([up.code, tree(path.join(box, 'up'))]).toEqual([0, kept]);
    const down = await cp(`${ID}:odd`, 'down');
    expect([down.code, tree(path.join(here, 'down'))]).toEqual([0, kept]);
    for (const { err } of [up, down]) {
      expect(err.match(/left out: (out|climb|pipe)/g)?.sort()).toEqual([
        'left out: climb',
        'left out: out',
        'left out: pipe',
      ]);
    }
  });

  it('nothing in a dry run, which prints the first request', async () => {
    put(here, { file: 'x', 'folder/a': 'a' });
    put(box, { far: 'x', 'away/a': 'a' });
    const before = [tree(here), tree(box)];
    for (const [source = '', target = '', request] of [
      ['file', `${ID}:`, 'POST /api/file/upload'],
      ['folder', `${ID}:`, 'POST /api/file/upload'],
      [`${ID}:far`, '.', 'GET /api/file/download'],
      [`${ID}:away`, '.', 'POST /api/bash/start_bash_command'],
    ]) {
      const { code, out } = await cp(source, target, '--dry-run', '--json');
      const { requests } = JSON.parse(out) as { requests: { method: string; url: string }[] };
      const shown = requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`);
      expect({ code, shown }).toEqual({ code: 0, shown: [request] });
    }
    expect([tree(here), tree(box)]).toEqual(before);
  });
});

describe('sandbox cp refuses', () => {
  beforeEach(() => {
    put(here, { file: 'x', 'folder/a': 'a', 'there/file/': '', 'there/folder': 'x' });
    put(box, { file: 'x', 'folder/a': 'a', 'there/file/': '', 'there/folder': 'x' });
  });

  it.each([
    [2, 'file', 'folder', 'no side names a sandbox'],
    [2, `${ID}:file`, `${ID}:other`, 'both sides name a sandbox'],
    [2, '', `${ID}:file`, 'a path is empty'],
    [2, './a:b', './c', 'no side names a sandbox'],
    [2, 'a b:file', '.', 'is not a sandbox id'],
    [2, `${ID}:folder`, '-', 'only a file goes to stdout'],
    [3, 'none', `${ID}:`, 'cannot read none: it does not exist'],
    [3, `${ID}:file`, 'no/such', 'its folder does not exist'],
    [3, `${ID}:file`, 'no-such/', 'does not exist'],
    [5, `${ID}:none`, '.', 'has no '],
    [5, 'file', `${ID}:no/such`, 'its folder does not exist in the sandbox'],
    [5, 'file', `${ID}:no-such/`, 'does not exist in the sandbox'],
    [5, 'nobodynobodynobody:file', '.', 'no sandbox'],
    [6, `${ID}:file`, 'there', 'is a folder; a file does not replace it'],
    [6, `${ID}:folder`, 'there', 'is not a folder; a folder does not replace it'],
    [6, `${ID}:folder`, 'file', 'is not a folder; a folder does not replace it'],
    [6, `${ID}:file`, 'file/', 'is not a folder'],
    [6, `${ID}:file/`, 'new', 'is a file, not a folder'],
    [6, 'file', `${ID}:there`, 'is a folder; a file does not replace it'],
    [6, 'folder', `${ID}:there`, 'is not a folder; a folder does not replace it'],
    [6, 'folder', `${ID}:file`, 'is not a folder; a folder does not replace it'],
    [6, 'file', `${ID}:file/`, 'is not a folder'],
    [6, 'file/', `${ID}:new`, 'is a file, not a folder'],
  ])('exit %i for %s %s', async (exitCode, source, target, message) => {
    const before = [tree(here), tree(box)];
    const { code, err, out } = await cp(source, target);
    expect({ code, err, out }).toMatchObject({
      code: exitCode,
      err: expect.stringContaining(message) as string,
      out: '',
    });
    expect([tree(here), tree(box)]).toEqual(before);
  });

  it('a tree of which one part has another kind, before anything is changed', async () => {
    put(here, { 'src/first': '1', 'src/kind/x': 'x', 'to/src/kind': 'file' });
    put(box, { 'src/first': '1', 'src/kind/x': 'x', 'to/src/kind': '-> ../..' });
    const before = [tree(here), tree(box)];
    expect(await cp('src', `${ID}:to`)).toMatchObject({
      code: 6,
      err: expect.stringContaining('to/src/kind') as string,
    });
    expect(await cp(`${ID}:src`, 'to')).toMatchObject({
      code: 6,
      err: expect.stringContaining('to/src/kind') as string,
    });
    expect([tree(here), tree(box)]).toEqual(before);
  });

  it('a paused sandbox with exit 6 and the same command with --resume, before anything is sent to it', async () => {
    server.sandboxes = [record(ID, 'PAUSED')];
    const { code, err } = await cp('file', `${ID}:it's`);
    expect({ code, err }).toMatchObject({
      code: 6,
      err: expect.stringContaining(`acs sandbox cp file '${ID}:it'\\''s' --resume`) as string,
    });
    expect(agent.requests).toEqual([]);
  });

  it('a server of V0 alone with exit 12', async () => {
    server.fake.handler = ({ path: route }) =>
      route === '/api/options/config'
        ? { json: { APP_MODE: 'oss', FEATURE_FLAGS: {} } }
        : { status: 404, json: { detail: 'Not Found' } };
    expect((await cp('file', `${ID}:`)).code).toBe(12);
  });

  it.each(['/api/bash/start_bash_command', '/api/file/'])(
    'an agent server without the route %s with exit 12, before a file is sent',
    async (route) => {
      agent.fault = (request, response) => {
        if (request.url?.startsWith(route) !== true) return false;
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
        return true;
      };
      expect(await cp('file', `${ID}:`)).toMatchObject({ code: 12 });
      expect(agent.requests.filter((line) => line.startsWith('POST /api/file'))).toEqual([]);
    },
  );
});

describe('sandbox cp, when it does not come to its end,', () => {
  const MOMENTS = 10;
  const LARGE = Buffer.alloc(400_000, 'large');

  /** What is there besides the sources: nothing, or the whole copy. */
  const found = (root: string) => readdirSync(root).filter((name) => !['up', 'down', '.tmp'].includes(name));

  beforeEach(() => {
    for (const root of [here, box]) {
      const source = root === here ? 'up' : 'down';
      put(root, { [`${source}/one`]: 'x', [`${source}/sub/two`]: 'y' });
      writeFileSync(path.join(root, source, 'sub/large'), LARGE);
    }
  });

  it.each(['up', 'down'] as const)(
    'leaves nothing or all of it, and no temporary file: interrupted at ten moments of the way %s',
    async (way) => {
      const root = way === 'up' ? box : here;
      const args = way === 'up' ? ['up', `${ID}:copy`] : [`${ID}:down`, 'copy'];
      const source = path.join(way === 'up' ? here : box, way);
      for (let moment = 0; moment < MOMENTS; moment++) {
        let requests = 0;
        let bytes = 0;
        let isUploaded = false;
        let isPlacing = false;
        const abort = new AbortController();
        const interrupt = () => abort.abort(new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }));
        // The first half at each request, the second between parts of the file.
        agent.fault = ({ url = '' }) => {
          isPlacing ||= isUploaded && !abort.signal.aborted && url.includes('/api/bash/start_bash_command');
          isUploaded ||= url.includes('/api/file/upload');
          if (moment < MOMENTS / 2 && requests++ === moment) interrupt();
          return false;
        };
        agent.onBytes = (direction, count) => {
          bytes += direction === way ? count : 0;
          if (moment >= MOMENTS / 2 && bytes > ((moment - MOMENTS / 2) * LARGE.length) / (MOMENTS / 2)) interrupt();
        };
        const { code } = await run({ args, signal: abort.signal });
        agent.fault = () => false;
        agent.onBytes = () => undefined;
        const there = found(root);
        expect({ moment, code: [0, 130].includes(code), there }).toEqual({
          moment,
          code: true,
          // A command of the sandbox that has begun to place the copy may come to its end.
          there: code === 0 || (isPlacing && there.length > 0) ? ['copy'] : [],
        });
        if (there.length > 0) expect(tree(path.join(root, 'copy'))).toEqual(tree(source));
        expect(readdirSync(path.join(box, '.tmp'))).toEqual([]);
        rmSync(path.join(root, 'copy'), { recursive: true, force: true });
      }
    },
  );

  it.each(['up', 'down'] as const)(
    'exits 10 and leaves nothing when the connection is cut on the way %s',
    async (way) => {
      const root = way === 'up' ? box : here;
      const isTransfer = (url = '') => url.includes(`/api/file/${way === 'up' ? 'upload' : 'download?path=%2Ft'}`);
      agent.fault = (request, response) => {
        if (!isTransfer(request.url)) return false;
        if (way === 'up') request.once('data', () => request.socket.destroy());
        else {
          response.writeHead(200, { 'content-length': 1_000_000 });
          response.write(Buffer.alloc(LARGE.length), () => response.destroy());
        }
        return true;
      };
      for (const name of way === 'up' ? ['up', 'up/sub/large'] : ['down', 'down/sub/large']) {
        const args = way === 'up' ? [name, `${ID}:copy`] : [`${ID}:${name}`, 'copy'];
        expect({ name, code: (await cp(...args)).code, there: found(root) }).toEqual({
          name,
          code: 10,
          there: [],
        });
      }
      expect(readdirSync(path.join(box, '.tmp'))).toEqual([]);
    },
  );

  it('exits 3 and leaves nothing when the disk is full, or the file grows beyond a limit', async () => {
    const args = ['--fsize=100000', process.execPath, path.join(PACKAGE_ROOT, 'bin/acs.cjs'), 'sandbox', 'cp'];
    const env = { PATH: process.env['PATH'], HOME: dir, ACS_BASE_URL: server.fake.url, ACS_API_KEY: 'key' };
    for (const name of ['down', 'down/sub/large']) {
      const child = spawn('prlimit', [...args, `${ID}:${name}`, 'copy'], { cwd: here, env, stdio: 'ignore' });
      const [code] = (await once(child, 'exit')) as [number];
      expect({ name, code, there: found(here) }).toEqual({ name, code: 3, there: [] });
    }
  });
});

describe('sandbox cp does not trust the archive of a sandbox:', () => {
  /** An archive with one file in it, whose name is changed in its header. */
  async function archive(entries: Parameters<Pack['entry']>[0][]): Promise<Buffer> {
    const made = pack();
    made.entry({ name: './', type: 'directory' });
    for (const entry of entries) made.entry(entry, entry.type === undefined ? 'content' : '');
    made.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of made as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  beforeEach(() => {
    put(box, { 'tree/file': 'x' });
    put(dir, { 'outside/kept': 'kept' });
  });

  it.each([
    ['a name that climbs', [{ name: './../escaped' }]],
    ['a name that climbs in its middle', [{ name: './a/../../escaped' }]],
    ['an absolute name', [{ name: '/tmp/acs-cp-escaped' }]],
    ['a file below a link', [{ name: './link', type: 'symlink', linkname: 'x' }, { name: './link/escaped' }]],
    [
      'a file below a link that leads out',
      [{ name: './link', type: 'symlink', linkname: '../outside' }, { name: './link/escaped' }],
    ],
    [
      'a link in place of a folder',
      [
        { name: './a', type: 'directory' },
        { name: './a', type: 'symlink', linkname: '../outside' },
        { name: './a/escaped' },
      ],
    ],
    ['another name for a file outside', [{ name: './hard', type: 'link', linkname: '../outside/kept' }]],
    ['another name for what is not in it', [{ name: './hard', type: 'link', linkname: 'none' }]],
  ] as [string, Parameters<Pack['entry']>[0][]][])('%s is exit 9, and nothing is written', async (_, entries) => {
    agent.content = await archive(entries);
    const before = tree(dir);
    const { code, err } = await cp(`${ID}:tree`, 'copy');
    expect({ code, err }).toEqual({ code: 9, err: expect.stringContaining('nothing was written') as string });
    const { ['config/']: _config, ...after } = tree(dir);
    expect(after).toMatchObject(before);
    expect(readdirSync(here)).toEqual([]);
    expect(existsSync('/tmp/acs-cp-escaped')).toBe(false);
  });

  it('what is no archive is exit 9, and one that is cut exit 10', async () => {
    agent.content = Buffer.alloc(10_240, 'no archive');
    expect(await cp(`${ID}:tree`, 'copy')).toMatchObject({ code: 9 });
    agent.content = (await archive([{ name: './file' }])).subarray(0, 700);
    expect((await cp(`${ID}:tree`, 'copy')).code).not.toBe(0);
    expect(readdirSync(here)).toEqual([]);
  });

  it('a device in it is left out with a warning', async () => {
    agent.content = await archive([
      { name: './device', type: 'character-device', devmajor: 1, devminor: 3 },
      { name: './file' },
    ]);
    const { code, err } = await cp(`${ID}:tree`, 'copy');
    expect({ code, err, there: readdirSync(path.join(here, 'copy')) }).toEqual({
      code: 0,
      err: expect.stringContaining('left out: device') as string,
      there: ['file'],
    });
  });
});
