import path from 'node:path';
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  existsSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  bubblewrapPlan,
  hiddenFolders,
  isFree,
} from '../../../src/service/isolation/bubblewrap.ts';
import { sandboxOfTest } from '../agent-server/support/shared-sandboxes.ts';
import {
  makePlace,
  removePlace,
  startTestWorker,
  step,
  until,
} from '../agent-server/support/worker.ts';
import { hasBubblewrap, readOnlySettings } from '../../support/bubblewrap.ts';

const sandbox = sandboxOfTest();
const NO_TOOLS = { mounts: [], covered: [], path: [], variables: {}, leftOut: [] };

describe('the hidden folders', () => {
  it('are the home and the whole data directory, also by their real paths', () => {
    const data = path.join(sandbox.place.dir, 'data');
    const home = path.join(sandbox.place.dir, 'home');
    mkdirSync(data, { recursive: true });
    mkdirSync(path.join(sandbox.place.dir, 'real'));
    symlinkSync('real', home);
    const real = realpathSync(sandbox.place.dir);
    expect(hiddenFolders(data, home)).toEqual([
      home,
      path.join(real, 'real'),
      path.join(real, 'data'),
    ]);
  });

  it('are covered where a system folder contains them', () => {
    const { options } = bubblewrapPlan({
      workspaceDir: sandbox.place.workspace,
      mounts: [],
      tools: NO_TOOLS,
      dist: sandbox.place.dir,
      node: process.execPath,
      offline: false,
      hidden: ['/usr/lib', sandbox.place.dir],
      temporary: null,
    });
    expect(options[options.indexOf('/usr/lib') - 1]).toBe('--tmpfs');
    expect(options.slice(0, options.indexOf('/usr/lib'))).toContain('/usr');
  });
});

it('a node below the home of the user is there with its packages, and nothing else of its folder', () => {
  const local = path.join(sandbox.place.dir, '.local');
  const packages = path.join(local, 'lib', 'node_modules');
  mkdirSync(path.join(packages, 'npm'), { recursive: true });
  mkdirSync(path.join(local, 'bin'));
  for (const name of ['node', 'own']) writeFileSync(path.join(local, 'bin', name), '');
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin', 'npm'));
  symlinkSync('/opt/own', path.join(local, 'bin', 'linked'));
  const node = path.join(local, 'bin', 'node');
  const { options, program } = bubblewrapPlan({
    workspaceDir: sandbox.place.workspace,
    mounts: [],
    tools: NO_TOOLS,
    dist: sandbox.place.dir,
    node,
    offline: false,
    hidden: [sandbox.place.dir],
    temporary: null,
  });
  const inside = '/run/acs/node';
  const from = options.indexOf(node) - 1;
  expect(options.slice(from, options.indexOf('/workspace') - 1)).toEqual([
    ...[
      '--ro-bind',
      node,
      `${inside}/bin/node`,
      '--ro-bind',
      packages,
      `${inside}/lib/node_modules`,
    ],
    ...['--symlink', '../lib/node_modules/npm/bin/npm-cli.js', `${inside}/bin/npm`],
  ]);
  expect(program[0]).toBe(`${inside}/bin/node`);
});

it.each([
  ['/home/me/src/app', true],
  ['/home/agent/app', true],
  ['/tmp/app', true],
  ['/workspace/app', true],
  ['/srv', true],
  ['/', false],
  ['/home', false],
  ['/home/agent', false],
  ['/var', false],
  ['/workspace', false],
  ['/workspace/project/app', false],
  ['/opt/app', false],
  ['/usr/src/app', false],
  ['/run/acs/app', false],
])('a link at %s is possible: %s', (target, expected) => {
  expect(isFree(target)).toBe(expected);
});

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  const spec = 'bubblewrap';

  it('has the mounts of its start, and none that a link of its agent would lead elsewhere', async () => {
    const { dir, workspace } = sandbox.place;
    const at = (...names: string[]): string => path.join(dir, ...names);
    for (const folder of ['kept', 'read', 'private']) {
      mkdirSync(at(folder));
      writeFileSync(at(folder, 'file'), folder);
    }
    symlinkSync(at('private'), path.join(workspace, 'away'));
    symlinkSync('nowhere', path.join(workspace, 'broken'));
    const inside = '/workspace/project';
    const worker = await sandbox.start({
      spec,
      mounts: [
        { source: at('kept'), target: '/data/kept', mode: 'writable' },
        { source: at('read'), target: '/data/kept/read', mode: 'read-only' },
        { source: at('read'), target: `${inside}/made/read`, mode: 'read-only' },
        { source: at('missing'), target: '/data/missing', mode: 'read-only' },
        { source: path.join(workspace, 'away'), target: '/data/source', mode: 'read-only' },
        { source: at('read'), target: `${inside}/away/target`, mode: 'writable' },
        { source: at('read'), target: `${inside}/broken/target`, mode: 'writable' },
      ],
    });
    const [listed, read] = await worker.outputsOf(
      `ls /data; echo new > /data/kept/new; cat ${inside}/made/read/file`,
      'for f in /data/kept/read made/read; do touch $f/x 2>&1; done',
    );
    expect(listed).toBe('kept\nread');
    expect(read).toMatch(/^(.*Read-only file system\n?){2}$/);
    expect(readFileSync(at('kept', 'new'), 'utf8')).toBe('new\n');
    expect(existsSync(at('private', 'target'))).toBe(false);
  });

  it('has a link at the path of a checkout, and no mount below it', async () => {
    const { dir, workspace } = sandbox.place;
    const checkout = path.join(dir, 'checkout');
    mkdirSync(path.join(checkout, 'bin'), { recursive: true });
    writeFileSync(path.join(checkout, 'bin', 'file'), 'of the user');
    mkdirSync(path.join(workspace, 'clone'));
    const worker = await sandbox.start({
      spec,
      mounts: [
        { source: path.join(checkout, 'bin'), target: `${checkout}/bin`, mode: 'read-only' },
        { source: '/workspace/project/clone', target: checkout, mode: 'link' },
      ],
    });
    const [listed, where] = await worker.outputsOf(
      `cd ${checkout} && echo new > file && ls`,
      `cd ${checkout} && pwd -P`,
    );
    expect([listed, where]).toEqual(['file', '/workspace/project/clone']);
    expect(readFileSync(path.join(workspace, 'clone', 'file'), 'utf8')).toBe('new\n');
  });

  it.each(['writable', 'read-only'])(
    'has at most 64 namespaces of each kind where /proc/sys is %s',
    async (settings) => {
      const programs = path.join(sandbox.place.dir, 'programs');
      mkdirSync(programs);
      const PATH = readOnlySettings(programs, { elsewhere: true });
      const worker = await sandbox.start(
        settings === 'writable' ? { spec } : { spec, env: { PATH } },
      );
      const count = (flags: string, more = ''): string =>
        `PATH=/usr/bin:/bin; ${more}made=0; pids=; for i in $(seq 66); do mkfifo held$i; unshare ${flags} sh -c ` +
        '"echo up; read x < held$i" > up$i 2>/dev/null & pids="$pids $!"; done; for i in ' +
        '$(seq 66); do while kill -0 $(echo $pids | cut -d" " -f$i) 2>/dev/null && ! test ' +
        '-s up$i; do sleep 0.01; done; test -s up$i && made=$((made + 1)); done; kill $pids ' +
        '2>/dev/null; wait 2>/dev/null; rm -f held* up*; echo $made';
      const raise = 'echo 9999 > /proc/sys/user/max_user_namespaces';
      const [first, , again, nets, rights] = await worker.outputsOf(
        count('--user'),
        `${raise} 2>&1 | grep -c denied; unshare -Ur sh -c '${raise}' 2>/dev/null`,
        count('--user'),
        count('--user --map-root-user --net'),
        'grep CapEff /proc/self/status; id -u',
      );
      // bubblewrap itself has one, or two where it runs for another user than root. The kernel
      // releases namespaces after their last process has ended: a later count may be lower.
      expect(Number(first)).toBeGreaterThanOrEqual(62);
      for (const made of [first, again, nets]) expect(Number(made)).toBeLessThan(64);
      expect(rights).toBe(`CapEff:\t0000000000000000\n${String(process.getuid?.())}`);
    },
  );

  it('that has used up its namespaces does not prevent the isolation of another', async () => {
    const worker = await sandbox.start({ spec });
    await worker.startConversation([
      step.run(
        'for i in $(seq 200); do unshare --user sleep 300 & done 2>/dev/null; echo x > held; wait',
      ),
      step.finish(),
    ]);
    await until('the namespaces are used up', () =>
      existsSync(path.join(sandbox.place.workspace, 'held')),
    );
    const other = makePlace();
    try {
      const next = await startTestWorker(other, { spec });
      expect(next.workingDir).toBe('/workspace/project');
      await next.end();
    } finally {
      removePlace(other);
    }
  });
});
