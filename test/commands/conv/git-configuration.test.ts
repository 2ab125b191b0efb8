/**
 * What `conv` does with a repository does not depend on the configuration of git, neither the
 * user's nor the agent's.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { git, shell } from '../../support/patch-matrix.ts';
import { useWorld } from '../../support/use-world.ts';
import { finish, replayFile, run } from './support.ts';

const at = useWorld({ spec: 'process', api: 'v1', oneSandbox: true });
const inDir = (name: string) => path.join(at.dir, name);
const IDENTITY = '[user]\n\tname = Test\n\temail = test@example.com\n';

/**
 * Settings that change content or output, each to what breaks acs if git obeys it. `PROGRAM` leaves
 * a trace.
 */
const HOSTILE = `${IDENTITY}
[apply] whitespace = error
  ignoreWhitespace = change
[clone] defaultRemoteName = upstream
  rejectShallow = true
[color] ui = always
  diff = always
  status = always
  remote = always
[column] ui = always
[commit] gpgSign = true
[tag] gpgSign = true
[gpg] program = PROGRAM
[log] showSignature = true
  decorate = full
  date = relative
[core] autocrlf = true
  eol = crlf
  safecrlf = true
  attributesFile = ATTRIBUTES
  bigFileThreshold = 1
  fsmonitor = PROGRAM
  hooksPath = HOOKS
  logAllRefUpdates = false
  pager = PROGRAM
  quotePath = false
  symlinks = false
  abbrev = 40
  whitespace = tab-in-indent,trailing-space,cr-at-eol
[diff] algorithm = patience
  autoRefreshIndex = false
  colorMoved = zebra
  context = 0
  dstPrefix = new/
  external = PROGRAM
  ignoreSubmodules = all
  indentHeuristic = false
  interHunkContext = 100
  mnemonicPrefix = true
  noPrefix = true
  orderFile = ATTRIBUTES
  relative = true
  renames = false
  renameLimit = 1
  srcPrefix = old/
  submodule = log
  suppressBlankEmpty = true
  wsErrorHighlight = all
[diff "planted"] textconv = PROGRAM
  command = PROGRAM
[filter "planted"] clean = PROGRAM
  smudge = PROGRAM
  required = true
[filter "a=b"] process = PROGRAM
  required = true
[merge] default = planted
  renormalize = true
[merge "planted"] driver = PROGRAM
[rerere] enabled = true
  autoUpdate = true
[i18n] commitEncoding = ISO-8859-1
  logOutputEncoding = ISO-8859-1
[init] templateDir = TEMPLATE
  defaultObjectFormat = sha256
[status] aheadBehind = false
  branch = true
  relativePaths = false
  renames = false
  short = true
  showStash = true
  showUntrackedFiles = no
  submoduleSummary = true
[submodule] recurse = true
[safe] bareRepository = explicit
`;

let trace: string;
let hostile: string;
beforeAll(() => {
  trace = inDir('trace');
  writeFileSync(inDir('program'), `#!/bin/sh\necho "$0 $*" >>'${trace}'\nexit 1\n`);
  chmodSync(inDir('program'), 0o755);
  mkdirSync(inDir('hooks'));
  for (const hook of ['post-checkout', 'post-index-change', 'reference-transaction']) {
    writeFileSync(path.join(inDir('hooks'), hook), readFileSync(inDir('program')), { mode: 0o755 });
  }
  shell(at.dir, 'mkdir template && cp -r hooks template/hooks');
  writeFileSync(inDir('attributes'), '* text eol=crlf ident\nnew* -text\n');
  hostile = HOSTILE.replaceAll('PROGRAM', inDir('program'))
    .replaceAll('ATTRIBUTES', inDir('attributes'))
    .replaceAll('HOOKS', inDir('hooks'))
    .replaceAll('TEMPLATE', inDir('template'));
  writeFileSync(inDir('hostile'), hostile);
});
beforeEach(() => rmSync(trace, { force: true }));

function makeRepository(name: string, content: string): string {
  git(at.dir, 'init', '-q', '-b', 'main', name);
  shell(inDir(name), content);
  git(inDir(name), 'add', '-A');
  git(inDir(name), 'commit', '-q', '-m', 'first');
  return inDir(name);
}

function addSubmodule(repository: string, from: string): void {
  const add = ['submodule', '--quiet', 'add', from, 'sub'];
  git(repository, '-c', 'protocol.file.allow=always', ...add);
  git(repository, 'commit', '-qm', 'with a submodule');
}

async function ranOn(repository: string, command: string): Promise<string> {
  const replay = await replayFile(at, 'replay.json', [run(command), finish('Größer.')]);
  const start = ['conv', 'new', '--repo', repository, '--replay', replay, '--wait'];
  start.push('--sandbox', at.world.sandbox ?? '');
  return (await at.json<{ id: string }>(start)).id;
}

/** Names with mode and content. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^\.git(\/|$)/.test(name) && statSync(path.join(folder, name)).isFile())
    .sort();
  return Object.fromEntries(
    files.map((name) => {
      const file = path.join(folder, name);
      return [`${name} ${statSync(file).mode & 0o111}`, readFileSync(file, 'latin1')];
    }),
  );
}

const CONTENT = `
  printf '*.txt filter=planted merge=planted diff=planted\\n*.dat filter=a=b\\n*.bat text eol=crlf\\n' >.gitattributes
  i=0; while [ $i -lt 30 ]; do echo "line $i"; i=$((i+1)); done >a.txt
  printf 'x\\ny\\n' >untouched.txt; printf 'crlf\\r\\n' >crlf; echo 1 >one.dat; printf 'b\\r\\n' >win.bat
  cp a.txt old-name; ln -s a.txt link; echo gone >gone.txt; printf '\\000\\001' >bin`;
const CHANGES = `
  sed -i 's/line 5$/line 5  /; s/line 20/line twenty/' a.txt; printf '\\ttrailing \\n' >>crlf
  mv old-name new-name; rm gone.txt; printf '\\000\\002' >bin; chmod +x one.dat; echo 2 >>one.dat
  printf 'größer\\n' >grün.txt; printf 'more\\r\\n' >>win.bat; printf 'plain\\n' >new
  printf 'dos\\r\\n' >dos`;

/**
 * Everything that the commands made of a run; the user's configuration and that in the workspace
 * are this text.
 */
async function results(name: string, configuration: string, inWorkspace: string) {
  const repository = makeRepository(name, CONTENT);
  writeFileSync(path.join(at.world.home, '.gitconfig'), configuration);
  const id = await ranOn(repository, `${inWorkspace}\n${CHANGES}`);
  const checkout = (purpose: string) => {
    const folder = inDir(`${name}-${purpose}`);
    git(at.dir, 'clone', '-q', repository, folder);
    return folder;
  };
  const pull = async (folder: string, ...flags: string[]) => {
    await at.ends(['conv', 'pull', id, ...flags], { cwd: folder });
    return folder;
  };
  const merged = checkout('merge');
  shell(merged, 'sed -i "s/line 12/line twelve/" a.txt');
  git(merged, 'commit', '-qam', 'other');
  const onBranch = await pull(checkout('branch'), '--branch', 'agent');
  return {
    patch: (await at.ends(`conv diff ${id}`, {})).bytes.toString('latin1'),
    stat: (await at.ends(`conv diff ${id} --stat --json`, {})).out,
    pulled: filesIn(await pull(checkout('pull'))),
    merged: filesIn(await pull(merged, '--3way')),
    tree: git(onBranch, 'rev-parse', 'agent^{tree}'),
    message: git(onBranch, 'cat-file', 'commit', 'agent').split('\n').slice(-1),
    folder: filesIn(path.join(await pull(checkout('folder'), '-o', 'out'), 'out')),
    started: git(onBranch, 'status', '--short'),
  };
}

describe('the configuration of git', () => {
  it('of the user and of the workspace changes neither a clone, a diff nor a pull, and none of its programs runs', async () => {
    const plain = await results('plain', IDENTITY, 'true');
    expect(Object.keys(plain.pulled)).toHaveLength(12);
    expect(plain.patch).not.toContain('untouched');
    const configure =
      `cat '${inDir('hostile')}' >>.git/config; printf '* filter=planted\\n' ` +
      '>.git/info/attributes';
    const odd = await results('odd', hostile, `mkdir -p .git/info; ${configure}`);
    expect(odd).toEqual(plain);
    expect(existsSync(trace) ? readFileSync(trace, 'utf8') : '').toBe('');
  });

  it('of a repository names no program that conv list, conv new --dry-run and conv pull run', async () => {
    writeFileSync(path.join(at.world.home, '.gitconfig'), IDENTITY);
    const repository = makeRepository('copied', CONTENT);
    addSubmodule(repository, repository);
    const id = await ranOn(repository, 'echo more >>a.txt');
    for (const config of ['.git/config', '.git/modules/sub/config']) {
      writeFileSync(
        path.join(repository, config),
        hostile.replace(/^ {2}(?:fsmonitor|symlinks).*\n/gm, ''),
        {
          flag: 'a',
        },
      );
    }
    // git has to read the files again.
    shell(repository, 'touch -d 2020-01-01 *.txt *.dat sub/*.txt sub/*.dat');
    const cwd = { cwd: repository };
    await at.ends('conv list --repo .', cwd);
    await at.ends('conv new hello --dry-run --replay demo', cwd);
    await at.ends(`conv pull ${id} --3way`, cwd);
    expect(existsSync(trace) ? readFileSync(trace, 'utf8') : '').toBe('');
    expect(readFileSync(path.join(repository, 'a.txt'), 'utf8')).toMatch(/line 29\nmore\n$/);
  });

  it('with a required filter that the agent plants, in the repository or a submodule, breaks neither diff nor pull', async () => {
    const repository = makeRepository('planted', CONTENT);
    addSubmodule(repository, inDir('plain'));
    const plant = 'config filter.planted.clean false; git -C . config filter.planted.required true';
    const inSub =
      `git clone -q '${inDir('plain')}' sub; git -C sub ${plant.replace('-C .', '-C sub')}; ` +
      'echo more >>sub/a.txt; touch -d 2020-01-01 sub/*.txt';
    const id = await ranOn(repository, `git ${plant}; echo more >>untouched.txt; ${inSub}`);
    await at.ends(`conv diff ${id} --name-only`, { out: 'untouched.txt\n' });
    for (const flags of ['', '--3way', '--branch made', '-o made']) {
      git(repository, 'checkout', '-qf', 'main');
      await at.ends(`conv pull ${id} ${flags}`, { cwd: repository });
    }
  });
});

describe('a repository with Git LFS', () => {
  const pointer = (id: number) =>
    `version https://git-lfs.github.com/spec/v1\\noid sha256:${String(id).repeat(64)}\\nsize 4\\n`;
  const LFS = `
    echo '*.png filter=lfs diff=lfs merge=lfs -text' >.gitattributes; echo code >code
    printf '${pointer(1)}' >kept.png; printf '${pointer(2)}' >changed.png; printf '${pointer(3)}' >gone.png`;

  it('is cloned with pointers; files that the agent changed are left out of diff and pull by name', async () => {
    const filters =
      `[filter "lfs"]\n\tclean = ${inDir('program')}\n\tsmudge = ` +
      `${inDir('program')}\n\trequired = true\n`;
    writeFileSync(path.join(at.world.home, '.gitconfig'), IDENTITY + filters);
    const repository = makeRepository('lfs', LFS);
    // As in a checkout that Git LFS has filled; git would have to run the filter to compare the
    // files.
    shell(repository, 'echo real >kept.png; echo real >changed.png; echo real >gone.png');
    const command =
      'echo more >>code; echo real >changed.png; echo real >new.png; rm gone.png; touch kept.png';
    const started = await at.invoke({
      args: [
        'conv',
        'new',
        '--replay',
        await replayFile(at, 'lfs.json', [run(command), finish('done')]),
        '--wait',
        '-q',
      ],
      cwd: repository,
    });
    expect(started).toMatchObject({
      code: 0,
      err: expect.not.stringContaining('uncommitted') as string,
    });
    const id = started.out.trim();
    const left = ['changed', 'gone', 'new'].map(
      (name) => `left out: ${name}.png: a file of Git LFS, which is not compared`,
    );
    await at.ends(`conv diff ${id} --name-only`, { out: 'code\n', err: left });
    await at.ends(`conv pull ${id}`, { cwd: repository, err: left });
    await at.ends(`conv pull ${id} --branch made`, { cwd: repository, err: left });
    await at.ends(`conv pull ${id} -o ../lfs-out`, { cwd: repository, err: left });
    expect(filesIn(inDir('lfs-out'))).toEqual({ 'code 0': 'code\nmore\n' });
    expect(filesIn(repository)).toMatchObject({
      'code 0': 'code\nmore\n',
      'changed.png 0': 'real\n',
    });
    expect(existsSync(trace)).toBe(false);
  });
});
