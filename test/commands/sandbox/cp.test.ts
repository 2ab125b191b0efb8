import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND } from '../../support/server.ts';
import { PACKAGE_ROOT } from '../../support/world.ts';
import { AgentFiles, ID, put, tree, useCopyWorld } from './support.ts';

const at = useCopyWorld();
const NAMES = [
  'plain',
  'with space',
  `quote'"\\`,
  'new\nline',
  'ümläut 名',
  '-dash',
  `${'l'.repeat(200)}`,
  'a:b',
  '*',
];

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
  it.each([...NAMES, 'tool'])(
    'a file named %j to the sandbox and back, with its bytes and its name',
    async (name) => {
      const bytes = Buffer.from(
        Uint8Array.from({ length: 70_001 }, (_, index) => (index * 31) % 256),
      );
      writeFileSync(path.join(at.here, name), bytes, { mode: name === 'tool' ? 0o755 : 0o644 });
      expect(await at.cp(`./${name}`, `${ID}:`)).toMatchObject({ code: 0 });
      expect(readFileSync(path.join(at.box, name)).equals(bytes)).toBe(true);
      expect(statSync(path.join(at.box, name)).mode & 0o777).toBe(name === 'tool' ? 0o755 : 0o644);
      const { code, out } = await at.cp(`${ID}:${name}`, './back', '--json');
      const to = path.join(at.here, 'back');
      expect({ code, out: JSON.parse(out) as unknown }).toEqual({
        code: 0,
        out: {
          from: `${ID}:${path.join(at.box, name)}`,
          to,
          files: 1,
          bytes: 70_001,
          changed: true,
        },
      });
      expect(readFileSync(to).equals(bytes)).toBe(true);
      expect(statSync(to).mode & 0o777).toBe(name === 'tool' ? 0o755 : 0o644);
      expect([at.agent.temporary(), readdirSync(at.here).sort()]).toEqual([
        [],
        ['back', name].sort(),
      ]);
    },
  );

  it.each(['600', '640', '444', '700'])(
    'a file with the permission bits %s, which a new file keeps',
    async (bits) => {
      const mode = parseInt(bits, 8);
      put(at.here, { file: 'text' });
      chmodSync(path.join(at.here, 'file'), mode);
      expect(await at.cp('file', `${ID}:`)).toMatchObject({ code: 0 });
      expect(await at.cp(`${ID}:file`, 'back')).toMatchObject({ code: 0 });
      const copies = [path.join(at.box, 'file'), path.join(at.here, 'back')];
      expect(copies.map((file) => statSync(file).mode & 0o777)).toEqual([mode, mode]);
    },
  );

  describe.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('from an answer encoded with %s', (encoding, encode) => {
    const text = 'the same words\n'.repeat(20_000);
    const answerWith = (change: (encoded: Buffer) => Buffer): void => {
      at.agent.fault = ({ url = '' }, response) => {
        const file = new URL(url, 'http://agent').searchParams.get('path') ?? '';
        if (!url.startsWith('/api/file/download') || !existsSync(file)) return false;
        const body = change(encode(readFileSync(file)));
        response
          .writeHead(200, { 'content-encoding': encoding, 'content-length': body.length })
          .end(body);
        return true;
      };
    };

    it('a file and a folder, decoded', async () => {
      put(at.box, { 'big/file': text });
      answerWith((encoded) => encoded);
      expect(await at.cp(`${ID}:big/file`, 'back')).toMatchObject({ code: 0 });
      expect(await at.cp(`${ID}:big`, '.')).toMatchObject({ code: 0 });
      expect(tree(at.here)).toMatchObject({ back: text, 'big/file': text });
    });

    it('nothing, with exit code 9, when it is damaged', async () => {
      put(at.box, { file: text });
      answerWith((encoded) => encoded.subarray(0, encoded.length / 2));
      const { code, err } = await at.cp(`${ID}:file`, 'back');
      expect({ code, files: readdirSync(at.here) }).toEqual({ code: 9, files: [] });
      expect(err).toContain(`its ${encoding} encoding cannot be decoded`);
    });
  });

  it.each([
    ['an encoding that acs does not read', { 'content-encoding': 'zstd' }, 9, 'encoded as zstd'],
    ['fewer bytes than the file has, without a length', {}, 10, 'the answer has 4 of 9 bytes of'],
  ])('nothing from an answer with %s', async (_what, headers, exitCode, message) => {
    put(at.box, { file: '123456789' });
    at.agent.fault = ({ url = '' }, response) => {
      if (!/download\?path=.*file/.test(url)) return false;
      response.writeHead(200, { ...headers, 'transfer-encoding': 'chunked' }).end('1234');
      return true;
    };
    const { code, err } = await at.cp(`${ID}:file`, 'back');
    expect({ code, files: readdirSync(at.here) }).toEqual({ code: exitCode, files: [] });
    expect(err).toContain(message);
  });

  it('a file of a sandbox that a URL names, whose path has a colon', async () => {
    put(at.box, { 'a:b': 'named' });
    for (const url of [
      `http://127.0.0.1:3000/sandboxes/${ID}`,
      `https://acs.example.org/sandboxes/${ID}?tab=files`,
    ]) {
      expect(await at.cp(`${url}:a:b`, '-')).toMatchObject({ code: 0, out: 'named' });
    }
  });

  it('a folder to the sandbox and back, with modes, links, empty folders and every name', async () => {
    put(path.join(at.here, 'source'), SOURCE);
    chmodSync(path.join(at.here, 'source/deep/er'), 0o555);
    const { code, out } = await at.cp('source', `${ID}:copy`, '--json');
    const files = Object.keys(SOURCE).length - 1;
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({
      code: 0,
      out: { files, to: `${ID}:${at.box}/copy` },
    });
    expect(tree(path.join(at.box, 'copy'))).toEqual(tree(path.join(at.here, 'source')));
    expect(await at.cp(`${ID}:copy`, 'back')).toMatchObject({ code: 0, err: '' });
    expect(tree(path.join(at.here, 'back'))).toEqual(tree(path.join(at.here, 'source')));
    expect([readdirSync(at.box), at.agent.temporary(), readdirSync(at.here).sort()]).toEqual([
      ['copy'],
      [],
      ['back', 'source'],
    ]);
  });

  it('into a folder that is there, merges with one of the same name, and /. copies what is in a folder', async () => {
    put(at.here, { 'src/new': 'new', 'src/both': 'x here', 'src/sub/one': '1' });
    put(at.box, { 'dst/src/both': 'there', 'dst/src/kept': 'kept', 'dst/src/sub/two': '2' });
    expect(await at.cp('src', `${ID}:dst`)).toMatchObject({ code: 0 });
    const merged = {
      './': '755',
      both: 'x here',
      kept: 'kept',
      new: 'new',
      'sub/': '755',
      'sub/one': '1',
      'sub/two': '2',
    };
    expect(tree(path.join(at.box, 'dst/src'))).toEqual(merged);
    put(at.here, { 'back/src/both': 'old', 'back/src/mine': 'mine' });
    expect(await at.cp(`${ID}:dst/src`, 'back')).toMatchObject({ code: 0 });
    expect(tree(path.join(at.here, 'back/src'))).toEqual({ ...merged, mine: 'mine' });
    expect(await at.cp(`${ID}:dst/src/sub/.`, 'back')).toMatchObject({ code: 0 });
    expect(await at.cp('src/sub/.', `${ID}:dst`)).toMatchObject({ code: 0 });
    expect([
      tree(path.join(at.here, 'back'))['two'],
      tree(path.join(at.box, 'dst'))['one'],
    ]).toEqual(['2', '1']);
  });

  it('a file over a file, which keeps its mode, and through a link to a file', async () => {
    put(at.here, { new: 'new', old: 'old', link: '-> old' });
    put(at.box, { new: 'far', old: 'old', link: '-> old' });
    for (const root of [at.here, at.box]) chmodSync(path.join(root, 'old'), 0o600);
    expect(await at.cp('new', `${ID}:link`)).toMatchObject({ code: 0 });
    expect(await at.cp(`${ID}:new`, 'link')).toMatchObject({ code: 0 });
    expect([
      tree(at.box)['old'],
      tree(at.box)['link'],
      tree(at.here)['old'],
      tree(at.here)['link'],
    ]).toEqual(['new', '-> old', 'far', '-> old']);
    for (const root of [at.here, at.box])
      expect(statSync(path.join(root, 'old')).mode & 0o777).toBe(0o600);
  });

  it('stdin to a file, and a file to stdout with nothing else', async () => {
    expect(await at.run({ args: ['-', `${ID}:in.txt`], stdin: 'from stdin' })).toMatchObject({
      code: 0,
    });
    expect(await at.cp(`${ID}:in.txt`, '-')).toMatchObject({ code: 0, out: 'from stdin', err: '' });
    expect(await at.run({ args: ['-', `${ID}:`], stdin: 'x' })).toMatchObject({ code: 2 });
    expect(await at.cp(`${ID}:in.txt`, '-', '--json')).toMatchObject({ code: 2 });
    expect(readdirSync(at.box)).toEqual(['in.txt']);
  });

  it('the output of a command that a shell gives as a path', async () => {
    const acs = `'${process.execPath}' '${path.join(PACKAGE_ROOT, 'bin/acs.cjs')}'`;
    const env = at.server.env as NodeJS.ProcessEnv;
    const child = spawn('bash', ['-c', `${acs} sandbox cp <(printf piped) ${ID}:out.txt`], {
      env,
      stdio: 'ignore',
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(tree(at.box)['out.txt']).toBe('piped');
  });

  it('over the path form of the routes of agent server 1.11', async () => {
    await at.agent.close();
    await at.useAgent(new AgentFiles(path.join(at.dir, 'old'), { routes: 'path' }));
    put(at.here, { 'a ü%.txt': 'old form' });
    expect(await at.cp('a ü%.txt', `${ID}:`)).toMatchObject({ code: 0 });
    expect(await at.cp(`${ID}:a ü%.txt`, '-')).toMatchObject({ out: 'old form' });
    put(at.box, { 'two\nlines': 'x' });
    expect(await at.cp(`${ID}:two\nlines`, '-')).toMatchObject({ code: 12 });
  });

  it('leaves out devices, and links to outside of the folder, with a notice', async () => {
    const odd = {
      'odd/out': '-> /etc/passwd',
      'odd/climb': '-> sub/../../x',
      'odd/in': '-> sub/file',
      'odd/sub/file': 'x',
    };
    for (const root of [at.here, at.box]) {
      put(root, odd);
      execFileSync('mkfifo', [path.join(root, 'odd/pipe')]);
    }
    const kept = { './': '755', in: '-> sub/file', 'sub/': '755', 'sub/file': 'x' };
    const up = await at.cp('odd', `${ID}:up`);
    expect([up.code, tree(path.join(at.box, 'up'))]).toEqual([0, kept]);
    const down = await at.cp(`${ID}:odd`, 'down');
    expect([down.code, tree(path.join(at.here, 'down'))]).toEqual([0, kept]);
    for (const { err } of [up, down]) {
      expect(err.match(/left out: (out|climb|pipe)/g)?.sort()).toEqual([
        'left out: climb',
        'left out: out',
        'left out: pipe',
      ]);
    }
  });

  it('nothing in a dry run, which prints the first request', async () => {
    put(at.here, { file: 'x', 'folder/a': 'a' });
    put(at.box, { far: 'x', 'away/a': 'a' });
    const before = [tree(at.here), tree(at.box)];
    for (const [source = '', target = '', request] of [
      ['file', `${ID}:`, 'POST /api/file/upload'],
      ['folder', `${ID}:`, 'POST /api/file/upload'],
      [`${ID}:far`, '.', 'GET /api/file/download'],
      [`${ID}:away`, '.', 'POST /api/bash/start_bash_command'],
    ]) {
      const { code, out } = await at.cp(source, target, '--dry-run', '--json');
      const { requests } = JSON.parse(out) as { requests: { method: string; url: string }[] };
      const shown = requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`);
      expect({ code, shown }).toEqual({ code: 0, shown: [request] });
    }
    expect([tree(at.here), tree(at.box)]).toEqual(before);
  });
});

describe('sandbox cp refuses', () => {
  beforeEach(() => {
    put(at.here, { file: 'x', 'folder/a': 'a', 'there/file/': '', 'there/folder': 'x' });
    put(at.box, { file: 'x', 'folder/a': 'a', 'there/file/': '', 'there/folder': 'x' });
  });

  it.each([
    [2, 'file', 'folder', 'no side names a sandbox'],
    [2, `${ID}:file`, `${ID}:other`, 'both sides name a sandbox'],
    [2, 'a:b', `${ID}:`, 'needs a slash before it: ./a:b'],
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
    const before = [tree(at.here), tree(at.box)];
    const { code, err, out } = await at.cp(source, target);
    expect({ code, err, out }).toMatchObject({
      code: exitCode,
      err: expect.stringContaining(message) as string,
      out: '',
    });
    expect([tree(at.here), tree(at.box)]).toEqual(before);
  });

  it('the hint about relative paths is printed only for a relative path', async () => {
    for (const [source, target] of [
      [`${ID}:none`, '.'],
      ['file', `${ID}:no/such`],
    ] as const)
      expect((await at.cp(source, target)).err).toContain('a relative path begins at');
    for (const [source, target] of [
      [`${ID}:/none`, '.'],
      ['file', `${ID}:/no/such`],
      ['/no/such', `${ID}:`],
    ] as const)
      expect((await at.cp(source, target)).err).not.toMatch(/relative path|full path/);
  });

  it('a tree of which one part has another kind, before anything is changed', async () => {
    put(at.here, { 'src/first': '1', 'src/kind/x': 'x', 'to/src/kind': 'file' });
    put(at.box, { 'src/first': '1', 'src/kind/x': 'x', 'to/src/kind': '-> ../..' });
    const before = [tree(at.here), tree(at.box)];
    expect(await at.cp('src', `${ID}:to`)).toMatchObject({
      code: 6,
      err: expect.stringContaining('to/src/kind') as string,
    });
    expect(await at.cp(`${ID}:src`, 'to')).toMatchObject({
      code: 6,
      err: expect.stringContaining('to/src/kind') as string,
    });
    expect([tree(at.here), tree(at.box)]).toEqual(before);
  });

  it('a paused sandbox with exit 6 and the same command with --resume, before anything is sent to it', async () => {
    at.server.v1.addSandbox(ID, { status: 'PAUSED' });
    const { code, err } = await at.cp('file', `${ID}:it's`);
    expect({ code, err }).toMatchObject({
      code: 6,
      err: expect.stringContaining(
        `\n  start it first: acs sandbox cp file '${ID}:it'\\''s' --resume\n`,
      ) as string,
    });
    expect(at.agent.requests).toEqual([]);
  });

  it('a server of V0 alone with exit 12', async () => {
    at.server.script(({ path: route }) =>
      route === '/api/options/config' ? { json: { APP_MODE: 'oss' } } : NOT_FOUND,
    );
    const env = { ACS_CONFIG_DIR: path.join(at.dir, 'v0') };
    expect((await at.run({ args: ['file', `${ID}:`], env })).code).toBe(12);
  });

  it.each(['/api/bash/start_bash_command', '/api/file/'])(
    'an agent server without the route %s with exit 12, before a file is sent',
    async (route) => {
      at.agent.fault = (request, response) => {
        if (request.url?.startsWith(route) !== true) return false;
        response
          .writeHead(404, { 'content-type': 'application/json' })
          .end('{"detail":"Not Found"}');
        return true;
      };
      expect(await at.cp('file', `${ID}:`)).toMatchObject({ code: 12 });
      expect(at.agent.requests.filter((line) => line.startsWith('POST /api/file'))).toEqual([]);
    },
  );
});
