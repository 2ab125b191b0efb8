import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasBubblewrap } from '../../../support/bubblewrap.ts';
import { useWorld } from '../../../support/use-world.ts';
import { finish, git, json, run } from '../support.ts';

const at = useWorld({ spec: 'process' });
const MODULES = path.resolve(import.meta.dirname, '../../../../node_modules');
const PYTHON = '/usr/bin/python3';

async function makeCheckout(name: string, files: Record<string, string>): Promise<string> {
  const checkout = path.join(at.dir, name);
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(checkout, file)), { recursive: true });
    await writeFile(path.join(checkout, file), text);
  }
  await git(checkout, 'init', '-q');
  await git(checkout, 'add', '.');
  await git(checkout, 'commit', '-q', '-m', 'first');
  return checkout;
}

/** Every file with its number, size, time, mode and count of links. */
const stateOf = (folder: string): string =>
  execFileSync('find', [folder, '-printf', '%P %i %s %T@ %m %n\n'], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });

/** Runs a replay in the checkout; its notices, and the texts and the exit codes of its commands. */
async function replay(checkout: string, actions: object[], flags = '') {
  const name = `${path.basename(checkout)}.json`;
  await at.file(name, [...actions, finish('done')]);
  const started = await at.ends(`conv new --replay ${at.dir}/${name} --wait --json ${flags}`, {
    cwd: checkout,
  });
  const { id } = json<{ id: string }>(started);
  const { items } = await at.json<{ items: { text: string }[] }>(
    `conv events ${id} --kind ObservationEvent --json`,
  );
  const texts = items.map(({ text }) => text);
  return { id, err: started.err, texts };
}

const edit = (file: string, old_str: string, new_str: string) => ({
  action: 'edit',
  args: { command: 'str_replace', path: file, old_str, new_str },
});

describe.runIf(hasBubblewrap)('a checkout in a sandbox without a network', () => {
  const OFFLINE = '--spec bubblewrap-offline';

  it('is compiled and tested with its node_modules, which stay as they are on this side', async () => {
    const checkout = await makeCheckout('typescript', {
      'package.json': '{"type":"module"}',
      '.gitignore': 'dist/\n',
      'tsconfig.json': JSON.stringify({
        compilerOptions: { module: 'nodenext', outDir: 'dist', rootDir: '.', skipLibCheck: true },
        include: ['*.ts'],
      }),
      'total.ts': 'export const total = (a: number, b: number): number => a - b;\n',
      'total.test.ts': [
        "import assert from 'node:assert';",
        "import test from 'node:test';",
        "import { total } from './total.js';",
        "test('total', () => assert.equal(total(2, 3), 5));",
      ].join('\n'),
    });
    // Ignored by this checkout alone, so that the repository of the clone does not do it.
    await writeFile(path.join(checkout, '.git/info/exclude'), 'node_modules\n');
    const modules = path.join(checkout, 'node_modules');
    for (const name of ['typescript', '@types/node', 'undici-types'])
      await cp(path.join(MODULES, name), path.join(modules, name), { recursive: true });
    await mkdir(path.join(modules, '.bin'));
    await symlink('../typescript/bin/tsc', path.join(modules, '.bin/tsc'));
    await mkdir(path.join(at.dir, '.ssh'), { recursive: true });
    await writeFile(path.join(at.dir, '.ssh/id'), 'a secret');
    await symlink(path.join(at.dir, '.ssh'), path.join(modules, 'keys'));
    const before = stateOf(checkout);
    const test = 'node_modules/.bin/tsc && node --test dist/ > out.log; echo "exit $?"; rm out.log';
    const { id, err, texts } = await replay(
      checkout,
      [
        run(test),
        edit(path.join(checkout, 'total.ts'), 'a - b', 'a + b'),
        run(`cd ${checkout} && ${test}`),
        run('cat node_modules/keys/id; echo x > node_modules/agent; rm -r node_modules/typescript'),
      ],
      OFFLINE,
    );
    expect(err).toMatch(/dependencies copied: node_modules \([\d,]+ entries, \d+ MiB\)/);
    expect([texts[0], texts[2]]).toEqual(['exit 1', 'exit 0']);
    expect(texts[3]).toContain('No such file');
    expect(stateOf(checkout)).toBe(before);
    await at.ends(`conv diff ${id} --name-only`, { out: 'total.ts\n' });
    await at.ends(`conv pull ${id}`, { cwd: checkout });
    expect(await git(checkout, 'status', '--short')).toBe('M total.ts');
  });

  it.runIf(existsSync(PYTHON))(
    'is tested with its virtual environment, whose editable install finds the edited code',
    async () => {
      const checkout = await makeCheckout('python', {
        '.gitignore': '__pycache__/\n',
        'src/shop.py': 'def total(a, b):\n    return a - b\n',
        'tests/test_shop.py': [
          'import unittest, shop',
          'class Test(unittest.TestCase):',
          '    def test(self): self.assertEqual(shop.total(2, 3), 5)',
        ].join('\n'),
      });
      const venv = path.join(checkout, '.venv');
      execFileSync(PYTHON, ['-m', 'venv', '--without-pip', venv]);
      await writeFile(path.join(venv, '.gitignore'), '*\n');
      const [version = ''] = readdirSync(path.join(venv, 'lib'));
      const packages = path.join(venv, 'lib', version, 'site-packages');
      await writeFile(path.join(packages, '__editable__.shop.pth'), `${checkout}/src\n`);
      const script = path.join(venv, 'bin/run-tests');
      await writeFile(
        script,
        `#!${venv}/bin/python\nimport unittest\nunittest.main('test_shop', argv=['', '-q'])\n`,
      );
      await chmod(script, 0o755);
      const before = stateOf(checkout);
      // An edit in the same second with the same size would not be seen beside compiled code.
      const env = 'PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests';
      const test = `${env} run-tests 2>&1 | tail -n 1`;
      const { id, err, texts } = await replay(
        checkout,
        [
          run(`. .venv/bin/activate && ${test}`),
          edit('src/shop.py', 'a - b', 'a + b'),
          run(test),
          run("python -c 'import sys, shop; print(sys.prefix, shop.__file__)'"),
          run('touch .venv/agent; rm -r .venv/lib; git status --short'),
        ],
        OFFLINE,
      );
      expect(err).toContain('dependencies copied: .venv (');
      expect([texts[0], ...texts.slice(2, 5)]).toEqual([
        'FAILED (failures=1)',
        'OK',
        `${venv} ${checkout}/src/shop.py`,
        'M src/shop.py',
      ]);
      expect(stateOf(checkout)).toBe(before);
      await at.ends(`conv diff ${id} --name-only`, { out: 'src/shop.py\n' });
    },
  );
});

it('a checkout has its dependencies without isolation too, but no virtual environment, and none with --no-dependencies', async () => {
  const checkout = await makeCheckout('plain', { '.gitignore': 'node_modules\nvenv\n' });
  for (const file of ['node_modules/x.js', 'venv/pyvenv.cfg']) {
    await mkdir(path.dirname(path.join(checkout, file)));
    await writeFile(path.join(checkout, file), file);
  }
  const list = [run('echo "[$(ls)$(git status --short)]"')];
  const { err, texts } = await replay(checkout, list);
  expect(err).toContain(
    'dependencies copied: node_modules (1 entries, 1 MiB); left out: venv (its programs name the ' +
      'path of the checkout)',
  );
  expect(texts[0]).toBe('[node_modules]');
  const without = await replay(checkout, list, '--no-dependencies');
  expect(without.err).not.toContain('dependencies');
  expect(without.texts[0]).toBe('[]');
  expect(await readFile(path.join(checkout, 'node_modules/x.js'), 'utf8')).toBe(
    'node_modules/x.js',
  );
});
