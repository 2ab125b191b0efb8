/**
 * What an agent does to the `.git` of its clone changes neither the outcome of its run nor the base
 * of its diff.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeEachSpec } from '../../support/bubblewrap.ts';
import { useWorld } from '../../support/use-world.ts';
import {
  finish,
  git,
  json,
  makeRepository,
  putToSleep,
  replayFile,
  run,
  type ConversationJson,
} from './support.ts';

const CHANGE = 'echo more >> README.md; echo new > new.txt';
const CHANGED = 'README.md\tmodified\t1\t0\nnew.txt\tadded\t1\t0\n';

/** Each after the change, in the folder of the clone. */
const REPLACED: Record<string, string> = {
  'is made anew, with everything in one commit':
    'rm -rf .git; git init -q; git add -A; git commit -qm all',
  'gets a first commit without parents':
    'git checkout -q --orphan other; git add -A; git commit -qm all; rm -r .git/logs',
  'is amended and has no unreachable object any more':
    'git add -A; git commit -q --amend -m all; git reflog expire --expire=now --all; git gc ' +
    '-q --prune=now',
  'replaces the first commit': 'git add -A; git commit -qm all; git replace HEAD~1 HEAD',
  'has no objects': 'rm -rf .git/objects/*',
  'cannot be read': 'chmod 000 .git',
  'is a file': 'rm -rf .git; echo "gitdir: /nowhere" > .git',
  'is a link': 'mv .git ../elsewhere; ln -s ../elsewhere .git',
  'hides the changes':
    'git update-index --assume-unchanged README.md; echo "*" > .git/info/exclude',
};
const DELETED = 'README.md\tdeleted\t0\t1\n';
/** In the same folder, in place of the change. */
const GONE: Record<string, string> = {
  'is removed': 'rm -rf "$PWD"',
  'is moved': 'mv "$PWD" ../moved',
};

describeEachSpec('in a sandbox with the spec %s', (spec) => {
  const at = useWorld({
    spec: spec === 'process' ? spec : 'bubblewrap',
    noun: 'conv',
    oneSandbox: true,
  });
  let source: string;
  beforeAll(async () => {
    source = await makeRepository(path.join(at.dir, 'source'));
  });

  const inShared = (): string[] => ['--sandbox', at.world.sandbox ?? ''];

  /** A run of one command, which has to end as finished. */
  async function ran(command: string, ...flags: string[]): Promise<ConversationJson> {
    const file = await replayFile(at, 'run.json', [run(command), finish('I did it')]);
    const repo = flags.includes('--repo') ? [] : ['--repo', source];
    return json(
      await at.ends(['new', 'go', ...repo, '--replay', file, '--wait', '--json', ...flags], {}),
    );
  }

  // The workspace is read alike in both specs, by the commands over V1 and by the service over V0 and
  // before a pause.
  describe.each(spec === 'process' ? ['v1', 'v0'] : ['v1'])(
    'a run over %s whose repository',
    (dialect) => {
      const flags = () => ['--api', dialect, ...(dialect === 'v1' ? inShared() : [])];

      it('is removed has finished with the same changes in a diff, a pull and an export', async () => {
        const { id } = await ran(`${CHANGE}; rm -rf .git`, ...flags());
        await at.ends(`diff ${id} --stat`, { out: CHANGED });
        const checkout = path.join(at.dir, `checkout-${id}`);
        await git(source, 'clone', '-q', source, checkout);
        await at.ends(`pull ${id}`, { cwd: checkout });
        expect(await git(checkout, 'status', '--short')).toBe('M README.md\n?? new.txt');
        expect(readFileSync(path.join(checkout, 'README.md'), 'utf8')).toBe('hello\nmore\n');
        await at.ends(`export ${id} --as md`, { out: /2 files, \+2 -0/ });
      });

      // The base is made and read by the same code in both specs and over both dialects. A pull and
      // an export read the diff as `diff` does.
      const isAll = spec === 'process' && dialect === 'v1';
      const cases = Object.entries(REPLACED).filter((_, index) => isAll || index < 1);
      it.each(cases)(
        '%s has finished, and its diff is against the commit of the start',
        async (_, command) => {
          const { id } = await ran(`${CHANGE}; ${command}`, ...flags());
          await at.ends(`diff ${id} --stat`, { out: CHANGED });
        },
      );

      it.each(Object.entries(GONE).filter((_, index) => isAll || index < 1))(
        '%s altogether has finished, and every file is deleted',
        async (_, command) => {
          const { id } = await ran(command, ...flags());
          await at.ends(`diff ${id} --stat`, { out: DELETED });
        },
      );

      it('is left alone has its changes in an export while the sandbox is paused, which stays paused', async () => {
        const { id } = await ran(CHANGE, '--api', dialect);
        await putToSleep(at, id);
        for (const form of ['md', 'html']) {
          const { out } = await at.ends(`export ${id} --as ${form}`, {
            err: '',
            hides: /reconstructed|No changed file/,
          });
          expect(out).toContain('+more');
        }
        await at.ends(`show ${id} --json`, { out: { sandbox_status: 'paused' } });
        await at.ends(`diff ${id}`, { code: 6, err: '--resume' });
      });
    },
  );

  it('a second clone in the sandbox has a base of its own', async () => {
    const first = await ran(`${CHANGE}; rm -rf "$PWD"`, ...inShared());
    const second = await ran('rm -rf .git; echo other > other.txt', ...inShared());
    await at.ends(`diff ${first.id} --stat`, { out: DELETED });
    await at.ends(`diff ${second.id} --stat`, { out: 'other.txt\tadded\t1\t0\n' });
  });

  if (spec === 'bubblewrap') {
    it('the agent can read the copy of the commit, and cannot write to it', async () => {
      const { id } = await ran(
        'cd "/run/acs/bases/${PWD##*/}.git" && git cat-file -t HEAD >"$OLDPWD/type"; rm -rf HEAD ' +
          'objects; echo x > HEAD; git update-ref HEAD HEAD~0 -d; rm -rf "$OLDPWD/.git"',
        ...inShared(),
      );
      await at.ends(`diff ${id} --stat`, { out: 'type\tadded\t1\t0\n' });
    });
    return;
  }

  it('the base of a diff is the commit that was cloned, though the agent has pushed its own', async () => {
    const bare = path.join(at.dir, 'bare.git');
    await git(source, 'clone', '-q', '--bare', source, bare);
    const push =
      'git remote set-url origin "$PWD"; git add -A; git commit -qm mine; git push -q ' +
      'origin HEAD:refs/heads/x; git fetch -q';
    const { id } = await ran(`${CHANGE}; ${push}`, '--api', 'v0');
    await at.ends(`diff ${id} --stat`, { out: CHANGED });
  });

  it('of which git cannot add a part has its other changes in an export while the sandbox is paused', async () => {
    const { id } = await ran(`${CHANGE}; mkdir part; cd part; git init -q; echo x > x`);
    await putToSleep(at, id);
    await at.ends(`export ${id} --as md`, { err: '', out: /2 files, \+2 -0/ });
  });

  it('an ignored file is compared where the agent tracks it, and one that a sparse checkout leaves out is unchanged', async () => {
    const folders = await makeRepository(path.join(at.dir, 'folders'));
    for (const name of ['kept', 'hidden']) {
      mkdirSync(path.join(folders, name));
      writeFileSync(path.join(folders, name, 'file'), name);
    }
    await git(folders, 'add', '-A');
    await git(folders, 'commit', '-qm', 'folders');
    const track =
      'printf "*.log\\nREADME.md\\n" >.gitignore; echo 1 >new.log; git add -f new.log; git ' +
      'rm -q --cached README.md';
    const { id } = await ran(`${track}; git sparse-checkout set kept`, '--repo', folders);
    await at.ends(`diff ${id} --name-only`, { out: '.gitignore\nREADME.md\nnew.log\n' });
    await putToSleep(at, id);
    await at.ends(`export ${id} --as md`, { err: '', out: /3 files/ });
  });
});
