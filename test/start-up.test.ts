import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { invoke } from './support/world.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-start-up-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Start {
  stdout: string;
  /** Of the build, as in `main.js`. */
  files: string[];
  bytes: number;
  /** Every package that has code in these files. */
  libraries: string[];
  /** Every file of ours that has code in these files. */
  sources: string[];
  builtins: string[];
}

/** Runs the built command line as a program and returns what that loaded. */
async function start(...args: string[]): Promise<Start> {
  const record = path.join(folder, `${args.join('-').replaceAll('/', '_')}.json`);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(root, 'bin', 'acs.cjs'), ...args],
    {
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        NODE_OPTIONS: `--require=${path.join(root, 'test', 'fixtures', 'record-loads.cjs')}`,
        RECORD_LOADS: record,
      },
    },
  );
  const loads = JSON.parse(readFileSync(record, 'utf8')) as { files: string[]; builtins: string[] };
  const dist = path.join(root, 'dist');
  // Node 22 and newer load a file for their compile cache: the budgets are those of the oldest Node.
  const inDist = loads.files.filter(
    (file) => file.startsWith(dist + path.sep) && !file.endsWith('compile-cache.js'),
  );
  const files = inDist.map((file) => path.relative(dist, file).split(path.sep).join('/'));
  const inputs = files.flatMap((file) => chunks[file] ?? []);
  const outside = loads.files.filter((file) => file.includes('node_modules')).map(libraryOf);
  return {
    stdout,
    files,
    bytes: inDist.reduce((sum, file) => sum + statSync(file).size, 0),
    libraries: [
      ...new Set([...outside, ...inputs.map(libraryOf)].filter((each) => each !== '')),
    ].sort(),
    sources: inputs.filter((input) => input.startsWith('src/')),
    builtins: loads.builtins,
  };
}

const { chunks, version } = JSON.parse(
  readFileSync(path.join(root, 'dist', 'meta.json'), 'utf8'),
) as {
  chunks: Record<string, string[]>;
  version: string;
};

function libraryOf(file: string): string {
  return /.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? '';
}

const LIBRARIES_LOADED_ON_USE = [
  '@hono/node-server',
  '@inquirer/prompts',
  'chalk',
  'conf',
  'hono',
  'valibot',
  'ws',
];

describe('the build', () => {
  it('holds each library that is loaded on use in files that main.js does not load by itself', () => {
    const everywhere = new Set(Object.values(chunks).flat().map(libraryOf));

    // Guards the tests below: a library that is not in the build at all would never be seen as
    // loaded.
    expect(LIBRARIES_LOADED_ON_USE.filter((library) => !everywhere.has(library))).toEqual([]);
  });

  it('holds each file of ours once for the command line, so that an error is the same class everywhere', () => {
    const all = Object.entries(chunks)
      .filter(([file]) => !/^(service|worker|model|inside|jq|compile-cache)\.js$/.test(file))
      .flatMap(([, inputs]) => inputs.filter((input) => input.startsWith('src/')));

    expect(all.filter((input, index) => all.indexOf(input) !== index)).toEqual([]);
  });
});

describe.each([
  // The version and the pages of help are files.
  { line: '--version', most: { files: 0, kilobytes: 0 } },
  { line: '--help', most: { files: 0, kilobytes: 0 } },
  { line: 'help exit-codes', most: { files: 0, kilobytes: 0 } },
  { line: 'conv show --help', most: { files: 0, kilobytes: 0 } },
  { line: '__complete -- completion b', most: { files: 2, kilobytes: 112 } },
  { line: 'conv --no-color --help', most: { files: 3, kilobytes: 136 } },
])('acs $line', ({ line, most }) => {
  const args = line.split(' ');

  it('loads no library but those that read the command line and measure text', async () => {
    const { libraries } = await start(...args);

    expect(libraries.filter((library) => !/^commander$|^fast-string/.test(library))).toEqual([]);
  });

  it('loads nothing of the local service or of a server', async () => {
    const { sources, builtins } = await start(...args);

    expect(sources.filter((source) => /^src\/(service|client|protocol)\//.test(source))).toEqual(
      [],
    );
    expect(builtins.filter((name) => /NativeModule (http|https|tls)$/.test(name))).toEqual([]);
  });

  it('stays within its budget of files and bytes', async () => {
    const { files, bytes } = await start(...args);

    // A failure shows which files there are: the new one among them is the one to load on use.
    expect({ files, tooMany: files.length > most.files }).toEqual({ files, tooMany: false });
    expect(bytes).toBeLessThanOrEqual(most.kilobytes * 1024);
  });
});

describe('a page of help', () => {
  const printed = async (args: string[], columns: number) =>
    (await invoke({ args, columns, cwd: folder, env: { HOME: folder } })).out;

  it.each([
    ['--help'],
    ['conv', '--help'],
    ['sandbox', 'cp', '--help'],
    ['help', 'exit-codes'],
    ['help', 'conv', 'show'],
  ])('is the text of the program at 80 columns and more: acs %s %s %s', async (...args) => {
    const { stdout } = await start(...args.filter(Boolean));
    for (const columns of [80, 400]) expect(await printed(args, columns)).toBe(stdout);
    expect(await printed(args, 60)).not.toBe(stdout);
  });

  it('of acs is printed for every form of the flag', async () => {
    const { stdout } = await start('--help');
    for (const args of [['-h'], ['help'], []]) expect((await start(...args)).stdout).toBe(stdout);
  });

  it('is left to the program for aliases, and for names that are not those of commands', async () => {
    expect((await start('conversation', 'ls', '-h')).stdout).toBe(
      (await start('conv', 'list', '-h')).stdout,
    );
    await expect(start('exit-codes', '--help')).rejects.toMatchObject({ code: 2 });
    await expect(start('help', '../../package')).rejects.toMatchObject({ code: 2 });
  });
});

describe('a list with its request and its table', () => {
  const list = async (): Promise<Start> => {
    const server = spawn(process.execPath, [path.join(root, 'scripts', 'bench', 'server.mjs')]);
    try {
      const [line] = (await once(server.stdout, 'data')) as [Buffer];
      const args = ['conv', 'list', '--format', 'table', '--base-url', String(line).trim()];
      await start(...args); // what the server speaks is remembered from then on
      return await start(...args);
    } finally {
      server.kill();
      await once(server, 'exit');
    }
  };

  it('loads no library and no module of Node that only other commands need', async () => {
    const { stdout, libraries, builtins } = await list();

    expect(stdout.split('\n')).toHaveLength(22);
    expect(libraries).toEqual(['commander', 'fast-string-truncated-width', 'fast-string-width']);
    expect(
      builtins.filter((name) => /NativeModule (https|tls|http2|crypto|dns|zlib)$/.test(name)),
    ).toEqual([]);
  });

  it('loads of the other verbs of its noun, and of what a server can do besides, next to nothing', async () => {
    const { sources } = await list();
    const ofVerbs = sources.filter((source) =>
      /conv\/(new|follow|wait|send|resume|diff|events)|runs\/(tracker|follower|poll)/.test(source),
    );
    const ofServers = sources.filter((source) =>
      /^src\/client\/(v0|both|agent-server\/(?!event-records|state)|probe|secrets|settings|v1\/(start|follow|settings|diff|send))/.test(
        source,
      ),
    );

    expect({ ofVerbs, ofServers }).toEqual({ ofVerbs: [], ofServers: [] });
  });

  it('stays within its budget of files and bytes', async () => {
    const { files, bytes } = await list();

    expect({ files, tooMany: files.length > 4 }).toEqual({ files, tooMany: false });
    expect(bytes).toBeLessThanOrEqual(200 * 1024);
  });
});

describe('acs --version', () => {
  it('prints the version of the package and nothing else', async () => {
    const { stdout } = await start('--version');

    expect(stdout).toBe(`${version}\n`);
  });
});
