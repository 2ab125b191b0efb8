import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { folderOfEachTest } from './support/temporary-folder.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const run = promisify(execFile);
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

interface Manifest {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

interface LockedPackage {
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}

const manifest = JSON.parse(read('package.json')) as Manifest;

/** Files under version control. */
async function trackedFiles(): Promise<string[]> {
  const { stdout } = await run('git', ['ls-files', '-z'], {
    cwd: root,
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.split('\0').filter(Boolean);
}

describe('the package', () => {
  it('holds what runs and its licences, and neither sources nor tests', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
    });
    const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
    const files = (packed?.files ?? []).map((file) => file.path);
    const folders = [...new Set(files.map((file) => file.split('/')[0]))].sort();

    expect(folders).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'bin',
        'completions',
        'dist',
        'docs',
        'examples',
        'package.json',
      ].sort(),
    );
    expect(files).toEqual(
      expect.arrayContaining([
        'bin/acs.cjs',
        'completions/_acs',
        'completions/acs.bash',
        'completions/acs.fish',
        'completions/acs.ps1',
        'dist/main.js',
        'dist/worker.js',
        'dist/inside.js',
        'dist/licenses.txt',
        'dist/help/acs.conv.list.txt',
        'dist/openapi/app-server.json',
      ]),
    );
    expect(files.filter((file) => /\.ts$|meta\.json$|\.test\./.test(file))).toEqual([]);
  });

  it('names the licence of every library that the build holds', () => {
    const { chunks } = JSON.parse(read('dist/meta.json')) as { chunks: Record<string, string[]> };
    const libraries = Object.values(chunks)
      .flat()
      .flatMap((input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
    const licences = read('dist/licenses.txt');

    expect(
      [...new Set(libraries)].filter(
        (library) => !new RegExp(`^${library} \\d`, 'm').test(licences),
      ),
    ).toEqual([]);
  });

  it('has the library of each provider in a file of its own, without what that shares', () => {
    const { chunks } = JSON.parse(read('dist/meta.json')) as { chunks: Record<string, string[]> };
    const librariesOf = (file: string) =>
      new Set(chunks[file]?.map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1]));

    for (const name of ['anthropic', 'google', 'openai']) {
      expect([...librariesOf(`${name}.js`)]).toEqual([`@ai-sdk/${name}`]);
      expect(librariesOf('model.js')).not.toContain(`@ai-sdk/${name}`);
    }
  });

  it('pins each dependency to one version', () => {
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });

    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version))).toEqual([]);
  });

  it('has a lock file without the addresses that packages were fetched from', () => {
    expect(read('package-lock.json')).not.toMatch(/"resolved"/);
  });

  it('has a lock file with every package that any system installs, without which `npm ci` refuses it', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, LockedPackage>;
    };
    const optional = Object.values(packages).flatMap((each) =>
      Object.keys(each.optionalDependencies ?? {}),
    );
    const locked = Object.keys(packages).map((place) => place.replace(/^.*node_modules\//, ''));

    expect(optional.filter((name) => !locked.includes(name))).toEqual([]);
    expect(
      Object.entries(packages).filter(([place, { integrity }]) => place !== '' && !integrity),
    ).toEqual([]);
  });

  it('names nothing of the machine that it was made on', async () => {
    const places = [root, path.join(os.homedir(), path.sep)].map((place) =>
      place.replace(/[^\w/]/g, '\\$&'),
    );
    const words = new RegExp(`${places.join('|')}|registry\\.[\\w-]+\\.\\w+`);
    const found = (await trackedFiles())
      .filter((file) => existsSync(path.join(root, file)))
      .flatMap((file) =>
        read(file)
          .split('\n')
          .flatMap((line, index) =>
            words.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
          ),
      );

    expect(found).toEqual([]);
  });
});

/**
 * The acs commands in the code blocks of a text, with the words that name a command and the flags
 * after them.
 */
function commandsIn(markdown: string): { line: string; words: string[]; flags: string[] }[] {
  const blocks = [...markdown.matchAll(/^```(?:sh|console|yaml)\n([^]*?)^```/gm)].map(
    ([, block]) => block ?? '',
  );
  return blocks
    .flatMap((block) =>
      [...block.matchAll(/(?:^|[\s(])(acs [^\n|;&>#)]*)/gm)].map(([, line]) => line ?? ''),
    )
    .map((line) => {
      const [, ...tokens] = line.replace(/ -p \S+/, '').split(/\s+/);
      const end = tokens.findIndex((token) => !/^[a-z]+$/.test(token));
      return {
        line,
        words: tokens.slice(0, end < 0 ? 2 : Math.min(end, 2)),
        flags: tokens.filter((token) => token.startsWith('--')),
      };
    });
}

/** @param heading as GitHub writes it in a link: lower case, with dashes */
function hasTarget(file: string, heading: string | undefined): boolean {
  if (!existsSync(path.join(root, file))) return false;
  const headings = [...(heading === undefined ? '' : read(file)).matchAll(/^#+ (.*)$/gm)].map(
    ([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
  );
  return heading === undefined || headings.includes(heading);
}

describe('the documentation of the package', () => {
  it('lists each dependency with its reason, and no other package', () => {
    const listed = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` +\|/gm)]
      .map(([, name]) => name)
      .sort();

    expect(listed).toEqual(
      Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).sort(),
    );
  });

  it('marks the first command and the test command in the README, where .ci/run reads them', () => {
    const command = (name: string) =>
      new RegExp(`<!-- ${name} -->\n\n\`\`\`sh\n(.*)\n\`\`\``).exec(read('README.md'))?.[1];

    expect(command('first-command')).toBe('npm ci && npm start');
    expect(command('test-command')).toBe('npm ci && npm test');
  });

  it('shows only commands and flags that exist', async () => {
    const help = async (...words: string[]): Promise<string> =>
      (await run(process.execPath, [path.join(root, 'bin', 'acs.cjs'), ...words, '--help'])).stdout;
    const globalFlags = await help();
    const texts = [
      'README.md',
      ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
    ];
    const shown = texts
      .flatMap((file) => commandsIn(read(file)))
      .map(async ({ line, words, flags }) => {
        const known = `${await help(...words)} ${globalFlags}`;
        return flags
          .filter((flag) => !new RegExp(`${flag}\\b`).test(known))
          .map((flag) => `${flag} in: ${line}`);
      });

    expect(shown.length).toBeGreaterThan(15);
    expect((await Promise.all(shown)).flat()).toEqual([]);
  });

  it('links to files and headings that exist', async () => {
    const texts = (await trackedFiles()).filter((file) =>
      /^(?:[A-Z]+|docs\/[\w/-]+)\.md$/.test(file),
    );
    const broken = texts.flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
        .filter(
          ([, target = '', heading]) =>
            !hasTarget(path.join(path.dirname(file), target || path.basename(file)), heading),
        )
        .map(([link]) => `${file}: ${link}`),
    );

    expect(texts).toContain('docs/architecture.md');
    expect(broken).toEqual([]);
  });

  it('has an entry of this version in the changelog', () => {
    expect(read('CHANGELOG.md')).toContain(`## [${manifest.version}]`);
  });
});

describe('.ci/run', () => {
  const folder = folderOfEachTest();
  const functionOf = (name: string): string =>
    new RegExp(`^${name}\\(\\) \\{\n.*?^\\}`, 'ms').exec(read('.ci/run'))?.[0] ?? '';

  it.each([
    [
      { numPassedTests: 7, numFailedTests: 1, numPendingTests: 2 },
      '2 cases not run\n7 passed, 1 failed\n',
    ],
    [
      { numPassedTests: 7, numFailedTests: 0, numPendingTests: 1 },
      '1 case not run\n7 passed, 0 failed\n',
    ],
    [{ numPassedTests: 7, numFailedTests: 0 }, '7 passed, 0 failed\n'],
  ])('ends with the counts of %j', async (report, printed) => {
    const file = path.join(folder.path, 'report.json');
    writeFileSync(file, JSON.stringify(report));
    const script = [
      'set -euo pipefail; passed=0 failed=0 not_run=0 work=$2',
      functionOf('add_counts'),
      functionOf('summary'),
      'add_counts "$1"; add_counts /nonexistent; summary',
    ].join('\n');
    const { stdout } = await run('bash', ['-c', script, 'bash', file, folder.path]);
    expect(stdout).toBe(printed);
  });

  it('collects the names of failed cases', async () => {
    const file = path.join(folder.path, 'report.json');
    const assertionResults = [
      { status: 'failed', fullName: 'acs --version prints "it" in `one` line' },
      { status: 'passed', fullName: 'acs --help prints help' },
    ];
    const counts = { numPassedTests: 1, numFailedTests: 1, numPendingTests: 0 };
    writeFileSync(file, JSON.stringify({ ...counts, testResults: [{ assertionResults }] }));
    const script = `passed=0 failed=0 not_run=0 work=$2\n${functionOf('add_counts')}\nadd_counts "$1"`;
    await run('bash', ['-c', script, 'bash', file, folder.path]);
    expect(readFileSync(path.join(folder.path, 'failed'), 'utf8')).toBe(
      '  acs --version prints "it" in `one` line\n',
    );
  });
});
