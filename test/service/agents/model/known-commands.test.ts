import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isReadOrBuild } from '../../../../src/service/agents/model/known-commands.ts';
import type { ToolStep } from '../../../../src/service/base/steps.ts';

const FOLDER = '/home/me/work/app';

function runs(step: object, current = FOLDER): boolean {
  return isReadOrBuild({ thought: '', ...step } as ToolStep, FOLDER, current);
}

const RUN = [
  'ls',
  'ls -la src',
  'pwd && ls -A | head -n 20',
  'cd src && grep -rn "foo\\|bar" --include=\'*.ts\' . | head -50',
  `cd ${FOLDER} && git status`,
  `cat ${FOLDER}/README.md`,
  'cat src/*.ts ./*.md',
  "sed -n '1,80p' src/a.ts",
  'find . -name "*.py" -type f',
  'git log --oneline -5; git diff HEAD~1',
  'git --no-pager show HEAD:src/a.ts',
  'git branch -a',
  'npm test 2>&1 | tail -50',
  'npm run build',
  'npm run -s test',
  'make',
  'make -j4 all',
  'make -j 4 check',
  'pytest -x -q "tests/test_a.py::test_b[1]"',
  'python3 -m pytest -k "a and not b" tests',
  'python -m unittest',
  'cargo test --workspace 2>/dev/null',
  'go test -run TestA -count=1 ./...',
  'go vet ./...\ngo build ./...',
  'node --test test/a.test.js',
  './gradlew test',
  'mvn package',
  "cat 'a file.txt' übung.md",
];

const ASK = [
  'ls; rm -rf ~',
  'ls\nrm -rf ~',
  'ls & rm x',
  'cat $(cat secret)',
  'cat `cat secret`',
  'cat "$(id)"',
  'cat "$HOME/x"',
  'cat <(id)',
  'cat << E\nx\nE',
  'cat <<< x',
  'ls > out',
  'ls >> out',
  'ls 2> out',
  'ls 2>&1x',
  'ls 2>/dev/nullx',
  '(rm x)',
  '{ rm x; }',
  'if true; then rm x; fi',
  'ls # x',
  'ls \\; rm x',
  "cat $'\\x2fetc/passwd'",
  'cat {/etc/passwd,x}',
  'A=1 ls',
  'env X=1 sh',
  'env',
  'sh x.sh',
  'eval ls',
  'exec ls',
  'xargs rm',
  'ls | sh',
  'ls | xargs rm',
  'constructor',
  '/bin/ls',
  './script',
  'cat /etc/passwd',
  'cat ~/.ssh/id_rsa',
  'cat --file=/etc/passwd',
  'grep -f/etc/passwd x',
  'grep x ../other',
  'cat src/../../x',
  `cat ${FOLDER}/../x`,
  `cat ${FOLDER}2/x`,
  'cat .*/x',
  'cat .?/x',
  'cd',
  'cd -',
  'cd ..',
  'cd ~',
  'find . -delete',
  'find . -exec rm {} +',
  'find . -fprintf x y',
  'find . -okdir rm',
  'find . -del*',
  "find . ''-del*",
  'find *',
  'sed -i s/a/b/ x',
  "sed -n '1w x' y",
  "sed -n '1e id' y",
  "sed -n '1,2p' x -i",
  "sed -n '1p ;1e id' y",
  "sed -n '1p ;w x' y",
  "sed -n '1p\n1e id' y",
  "sed '-n 1p' '1e id' y",
  'sort -o x y',
  'sort -uo x y',
  'sort --compress-prog=x y',
  'sort --files0-from=names',
  'sort --fil=names',
  'du --files0-from=names',
  'wc --files0-from=names',
  'wc --f names',
  'md5sum -c names',
  'sha256sum --check names',
  'rg --pre x y',
  'tree -o x',
  'awk 1 x',
  'uniq a b',
  'tee x',
  'rm x',
  'git -c core.pager=x log',
  'git -C /x log',
  'git --git-dir=x log',
  'git --exec-path=x status',
  'git diff --output=x',
  'git diff --outp x',
  'git grep -Ox y',
  'git grep -nOx y',
  'git grep --open-files-in-pager=x y',
  'git log --ext-diff',
  'git branch -D x',
  'git branch x',
  'git tag x',
  'git checkout .',
  'git push',
  'cd src && git status',
  `cd ${FOLDER} && cd src && git status`,
  'cd src; git log',
  'git config core.pager x',
  'make SHELL=x',
  'make -f x',
  "make --eval 'x:;id'",
  "make --eval='x:;id'",
  'make S*',
  'make install',
  'make test deploy',
  'make -l test install',
  'ninja install',
  'npm publish',
  'npm run deploy',
  'npm run --lib build deploy',
  'npm --lib test publish',
  'yarn run rimraf src',
  './gradlew build publish',
  'mvn package deploy',
  'pytest @options',
  'npm install',
  'npm test --script-shell=x',
  'npm test -- --reporter x',
  'npx vitest',
  'cargo run',
  'cargo test --config x',
  'cargo +nightly build',
  'go run .',
  'go test -exec x',
  'go build -toolexec x',
  'go vet -vettool=x',
  'node x.js',
  'node --test --import data:x',
  'node -e 1',
  'mvn package a:b:run',
  'python x.py',
  'python -c 1',
  'python -m pip install x',
  'pytest -p x',
  'pytest --basetemp=x',
  'curl https://example.com',
  'pip install x',
  `ls ${'x'.repeat(3000)}`,
];

it.each(RUN)('%j reads or builds', (command) => {
  expect(runs({ type: 'terminal', command })).toBe(true);
});

it.each(ASK)('%j needs a confirmation', (command) => {
  expect(runs({ type: 'terminal', command })).toBe(false);
});

it('git may read at the top of the workspace, where no folder of its files is the repository', () => {
  const terminal = (command: string) => ({ type: 'terminal', command });
  expect(runs(terminal('git status'), `${FOLDER}/src`)).toBe(false);
  expect(runs(terminal(`cd ${FOLDER} && git status`), `${FOLDER}/src`)).toBe(true);
  expect(runs(terminal('ls'), `${FOLDER}/src`)).toBe(true);
});

it('a command needs a confirmation after one that has left the workspace', () => {
  for (const command of ['ls', 'cat x', 'make', `cd ${FOLDER} && ls`])
    expect(runs({ type: 'terminal', command }, '/home/me')).toBe(false);
});

it('a file of the workspace may be viewed; an edit, input and a tool of a server are not known', () => {
  const edit = { type: 'edit', command: 'view' };
  expect(runs({ ...edit, path: 'src/a.ts' })).toBe(true);
  expect(runs({ ...edit, path: `${FOLDER}/src/a.ts` })).toBe(true);
  for (const path of ['/etc/passwd', '~/x', '$HOME/.ssh/id', '${HOME}/x', '../x'])
    expect(runs({ ...edit, path })).toBe(false);
  expect(runs({ ...edit, command: 'create', path: 'a', file_text: '' })).toBe(false);
  const input = { type: 'terminal', is_input: true };
  expect(['', 'C-c', 'ls', 'yes'].map((command) => runs({ ...input, command }))).toEqual([
    ...[true, true],
    ...[false, false],
  ]);
  expect(runs({ type: 'mcp', name: 'x', data: {} })).toBe(false);
});

it('a long hostile text is judged in linear time', () => {
  for (const part of ['a', '"', "'", 'a:', '=', '../', ' ', '-'])
    expect(runs({ type: 'terminal', command: `cat ${part.repeat(1900)}$` })).toBe(false);
});

describe('a link of the workspace that leads outside', () => {
  let root: string;
  let folder: string;
  beforeAll(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), 'acs-links-')));
    folder = path.join(root, 'app');
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    mkdirSync(path.join(folder, 'plain'));
    mkdirSync(path.join(root, 'other'));
    for (const file of ['app/a.txt', 'app/plain/b.md', 'secret', 'other/x'])
      writeFileSync(path.join(root, file), '');
    symlinkSync('a.txt', path.join(folder, 'inside'));
    symlinkSync('../secret', path.join(folder, 'link'));
    symlinkSync(path.join(root, 'other'), path.join(folder, 'src', 'out'));
    symlinkSync('out/x', path.join(folder, 'src', 'second.ts'));
    symlinkSync('/nothing-is-here', path.join(folder, 'dangling'));
  });
  afterAll(() => rmSync(root, { recursive: true }));
  const runsIn = (command: string, current = folder) => {
    const step = { type: 'terminal', thought: '', command } as ToolStep;
    return isReadOrBuild(step, folder, current);
  };

  it.each([
    'cat link',
    'cat ./link',
    "cat 'link'",
    'cat li*',
    'cat l?nk',
    'cat *',
    'cat s*/*.ts',
    'cat src/out/x',
    'cat src/*/x',
    'ls src/out/',
    'grep -flink a.txt',
    'grep -nvflink a.txt',
    'grep --file=link a.txt',
    'cd src && cat second.ts',
    'cd src; cd out; ls',
    'cd src | cat a.txt; cat second.ts',
    'diff src plain',
    'grep -rR x .',
    'find -L . -name x',
    'rg -L x',
    'rg --follow x',
    'tree -l',
    'du -aL',
    'diff -r src plain',
    `${'cd plain;'.repeat(200)} ls`,
    `cat ${'*a'.repeat(900)} link`,
    'git diff --no-index a.txt link',
  ])('%j needs a confirmation', (command) => {
    expect(runsIn(command)).toBe(false);
  });

  it.each([
    'cat inside',
    'cat dangling',
    'cat a*',
    'cat plain/*',
    'cd plain && cat b*',
    'ls src',
    'grep -rn x .',
    'find . -name "*.md"',
    'diff a.txt inside',
    'git log -- link2',
    'npm test',
  ])('%j is a read or a build', (command) => {
    expect(runsIn(command)).toBe(true);
  });

  it('a terminal that is behind it asks, and so does a view of the editor', () => {
    expect(runsIn('ls', path.join(folder, 'src', 'out'))).toBe(false);
    const view = (file: string) => {
      const step = { type: 'edit', command: 'view', thought: '', path: path.join(folder, file) };
      return isReadOrBuild(step as ToolStep, folder, folder);
    };
    expect([view('a.txt'), view('link'), view('src/out/x')]).toEqual([true, false, false]);
  });

  it('a workspace that is itself behind a link is inside', () => {
    const link = path.join(root, 'linked');
    symlinkSync(folder, link);
    const step = { type: 'terminal', thought: '', command: 'cat a.txt plain/*' } as ToolStep;
    expect(isReadOrBuild(step, link, link)).toBe(true);
  });
});
