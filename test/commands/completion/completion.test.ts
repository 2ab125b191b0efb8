import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completionFiles, referencePages, realTree } from '../../../scripts/generate.ts';
import { SHELLS } from '../../../src/commands/completion/index.ts';
import { completionTree, flatten } from '../../../src/commands/completion/tree.ts';
import { invoke, PACKAGE_ROOT } from '../../support/world.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-completion-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const scripts: Record<string, string> = {};
beforeAll(async () => {
  for (const [file, text] of Object.entries(await completionFiles())) {
    scripts[path.basename(file)] = path.join(dir, path.basename(file));
    writeFileSync(path.join(dir, path.basename(file)), text);
  }
  mkdirSync(path.join(dir, 'bin'));
  writeStandIn();
});

/** Prints names in place of acs, whose own are tested in names.test.ts. */
function writeStandIn(): void {
  const file = path.join(dir, 'bin', 'acs');
  const cases = [
    '"__complete profiles") printf "work\\nworkshop\\nlocal\\n" ;;',
    '"__complete conversations") printf "@last\\taa11\\naa11\\trunning: One\\nbb22\\n" ;;',
    '"__complete conversations --profile work") printf "cc33\\tTwo\\n" ;;',
    '"__complete settings") printf "llm_model\\nlanguage\\n" ;;',
  ];
  writeFileSync(file, `#!/bin/sh\ncase "$*" in\n${cases.join('\n')}\nesac\n`);
  chmodSync(file, 0o755);
}

const env = () => ({ PATH: `${path.join(dir, 'bin')}:${process.env.PATH ?? ''}`, HOME: dir, TERM: 'dumb' });

function found(program: string): boolean {
  return spawnSync(program, ['-c', 'exit 0']).status === 0;
}

/** What bash offers for a line whose last word is being typed. */
function bash(...words: string[]): string[] {
  const typed = ['acs', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source '${scripts['acs.bash']}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _acs; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['--norc', '-c', script], { cwd: dir, env: env(), encoding: 'utf8' });
  return out.split('\n').filter(Boolean);
}

describe('the generated files', () => {
  it('are those of this tree of commands: npm run generate writes them', async () => {
    const pages = await referencePages();
    for (const [file, text] of Object.entries({ ...(await completionFiles()), ...pages })) {
      expect(readFileSync(path.join(PACKAGE_ROOT, file), 'utf8') === text, file).toBe(true);
    }
    expect(pages['docs/commands.md']).toContain('`acs conv list`');
    expect(pages['docs/exit-codes.md']).toContain('- `124 timeout`');
  });

  it('know every command, alias and flag', async () => {
    const all = flatten(completionTree(await realTree()));
    const flags = all.flatMap((command) => command.flags.flatMap((flag) => flag.names));
    expect(all.length).toBeGreaterThan(30);
    for (const [file, text] of Object.entries(await completionFiles())) {
      const missing = [...all.flatMap(({ names }) => names), ...flags].filter(
        (word) => !text.includes(word.replace(/^-+/, '')),
      );
      expect({ file, missing }).toEqual({ file, missing: [] });
    }
  });
});

describe('in bash', () => {
  it('commands are offered, and an alias leads where its command does', () => {
    expect(bash('pro')).toEqual(['profile']);
    expect(bash('profile', '')).toEqual(['add', 'list', 'show', 'use', 'rename', 'delete']);
    expect(bash('conversation', 'li')).toEqual(['list']);
    expect(bash('__')).toEqual([]);
  });

  it('flags of the command and of all commands are offered', () => {
    expect(bash('profile', 'add', '--')).toEqual(
      expect.arrayContaining(['--key-command', '--no-check', '--profile', '--json']),
    );
    expect(bash('serve', '--st')).toEqual(['--status', '--stop']);
  });

  it('values of flags are offered, written both ways', () => {
    expect(bash('serve', '--api', '')).toEqual(['v0', 'v1', 'both']);
    expect(bash('serve', '--api', '=', 'v')).toEqual(['v0', 'v1']);
    expect(bash('serve', '--api', '=')).toEqual(['v0', 'v1', 'both']);
    expect(bash('--format', 'n')).toEqual(['ndjson']);
  });

  it('a value that looks like a command is passed over', () => {
    expect(bash('--profile', 'serve', 'profile', 'us')).toEqual(['use']);
    expect(bash('profile', '--output', 'add', 'us')).toEqual(['use']);
  });

  it('names of profiles are those of this moment', () => {
    expect(bash('profile', 'use', 'wo')).toEqual(['work', 'workshop']);
    expect(bash('-p', '')).toEqual(['work', 'workshop', 'local']);
    expect(bash('conv', 'list', '--profile', 'l')).toEqual(['local']);
  });

  it('shells and topics are offered', () => {
    expect(bash('completion', '')).toEqual([...SHELLS]);
    expect(bash('help', 'ex')).toEqual(['exit-codes']);
  });

  it('a flag takes its value also when the names for it cannot be had', () => {
    rmSync(path.join(dir, 'bin', 'acs'));
    expect(bash('-p', 'serve', 'conversation', 'li')).toEqual(['list']);
    writeStandIn();
  });

  it('nothing is offered after --', () => {
    expect(bash('conv', '--', 'li')).toEqual([]);
  });

  it('files are offered only where a file is meant', () => {
    expect(bash('--output', 'acs.b')).toEqual(['acs.bash']);
    expect(bash('conv', 'new', '--file', 'acs.z')).toEqual(['acs.zsh']);
    expect(bash('conv', 'new', '--title', 'acs')).toEqual([]);
    expect(bash('conv', 'new', 'acs')).toEqual([]);
  });

  it('statuses are offered, after a comma too', () => {
    expect(bash('conv', 'list', '--status', 'st')).toEqual(['starting', 'stuck', 'stopped']);
    expect(bash('conv', 'list', '--status', 'idle,wa')).toEqual(['idle,waiting']);
    expect(bash('sandbox', 'wait', 'x', '--for', 'mis')).toEqual(['missing']);
    expect(bash('conv', 'new', '--git-provider', 'git')).toEqual(['github', 'gitlab']);
  });

  it('ids are offered for the first argument, and for each where there may be several', () => {
    expect(bash('conv', 'show', '')).toEqual(['@last', 'aa11', 'bb22']);
    expect(bash('conv', 'show', 'aa11', '')).toEqual([]);
    expect(bash('conv', 'wait', 'aa11', 'b')).toEqual(['bb22']);
    expect(bash('--profile', 'work', 'conv', 'show', '')).toEqual(['cc33']);
    expect(bash('settings', 'get', 'lan')).toEqual(['language']);
  });

  it('help is followed by commands, their verbs, and topics', () => {
    expect(bash('help', 's')).toEqual(['sandbox', 'specs', 'settings', 'secret', 'serve']);
    expect(bash('help', 'conv', 're')).toEqual(['result', 'resume', 'rename']);
    expect(bash('help', 'settings', 'profile', 'sa')).toEqual(['save']);
    expect(bash('help', 'output', '')).toEqual([]);
  });
});

describe.each(['bash', 'zsh', 'fish'].filter(found))('the script for %s', (shell) => {
  it('is read without an error', () => {
    const flags = shell === 'fish' ? ['--no-execute'] : ['-n'];
    const { status, stderr } = spawnSync(shell, [...flags, scripts[`acs.${shell}`] ?? ''], {
      encoding: 'utf8',
      env: env(),
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe.each(['fish'].filter(found))('in %s', (shell) => {
  const complete = (line: string) => {
    const script = `source ${scripts['acs.fish']}; complete -C '${line}'`;
    const out = execFileSync(shell, ['--no-config', '-c', script], { cwd: dir, env: env(), encoding: 'utf8' });
    return out
      .split('\n')
      .filter(Boolean)
      .map((row) => row.split('\t')[0]);
  };

  it('commands, flags, values and names of profiles are offered', () => {
    expect(complete('acs profile r')).toEqual(['rename']);
    expect(complete('acs -p serve conversation li')).toEqual(['list']);
    expect(complete('acs serve --st')).toEqual(['--status', '--stop']);
    expect(complete('acs serve --api v')).toEqual(['v0', 'v1']);
    expect(complete('acs profile use wo')).toEqual(['work', 'workshop']);
  });

  it('ids, statuses, the verbs of help, and files where a file is meant are offered', () => {
    expect(complete('acs conv show ')).toEqual(['@last', 'aa11', 'bb22']);
    expect(complete('acs --profile work conv show ')).toEqual(['cc33']);
    expect(complete('acs conv show aa11 ')).toEqual([]);
    expect(complete('acs conv wait aa11 b')).toEqual(['bb22']);
    expect(complete('acs conv list --status wa')).toEqual(['waiting']);
    expect(complete('acs help conv re')).toEqual(['rename', 'result', 'resume']);
    expect(complete('acs --output acs.z')).toEqual(['acs.zsh']);
    expect(complete('acs conv new --title acs.')).toEqual([]);
  });
});

describe.each(['zsh'].filter(found))('in %s', (shell) => {
  /** What a line is after Tab. */
  const pressTab = (line: string, path = env().PATH) => {
    const driver = fileURLToPath(new URL('press-tab.zsh', import.meta.url));
    return execFileSync(shell, ['-f', driver, dir, scripts['acs.zsh'] ?? '', line], {
      env: { ...env(), PATH: path },
      encoding: 'utf8',
    }).trimEnd();
  };

  it.each([
    ['acs profile r', 'acs profile rename'],
    ['acs conversation li', 'acs conversation list'],
    ['acs -p serve conversation li', 'acs -p serve conversation list'],
    ['acs serve --sta', 'acs serve --status'],
    ['acs conv list --form', 'acs conv list --format'],
    ['acs serve --api b', 'acs serve --api both'],
    ['acs --format=n', 'acs --format=ndjson'],
    ['acs profile use loc', 'acs profile use local'],
    ['acs profile use w', 'acs profile use work'],
    ['acs help ex', 'acs help exit-codes'],
    ['acs --output acs.z', 'acs --output acs.zsh'],
    ['acs conv list -- acs.z', 'acs conv list -- acs.z'],
    ['acs conv new --title acs.z', 'acs conv new --title acs.z'],
    ['acs conv show aa', 'acs conv show aa11'],
    ['acs --profile work conv show c', 'acs --profile work conv show cc33'],
    ['acs conv list --status idle,wai', 'acs conv list --status idle,waiting'],
    ['acs help conv rena', 'acs help conv rename'],
    ['acs settings get lan', 'acs settings get language'],
  ])('%s becomes %s', (typed, completed) => {
    expect(pressTab(typed)).toBe(completed);
  });

  it('a flag takes its value also when the names for it cannot be had', () => {
    expect(pressTab('acs -p serve conversation li', process.env.PATH)).toBe('acs -p serve conversation list');
  });
});

describe('acs completion', () => {
  const acs = (args: string[], env: Record<string, string> = {}) =>
    invoke({
      args,
      cwd: dir,
      env: { HOME: dir, ACS_CONFIG_DIR: path.join(dir, 'config'), ACS_DATA_DIR: path.join(dir, 'data'), ...env },
    });

  it.each(SHELLS)('prints the script for %s and reads nothing', async (shell) => {
    const { code, out, err } = await acs(['completion', shell], { ACS_BASE_URL: '' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const extension = shell === 'powershell' ? 'ps1' : shell;
    expect(out === readFileSync(scripts[`acs.${extension}`] ?? '', 'utf8')).toBe(true);
  });

  it('of an unknown shell is exit 2 and names the known ones; a format makes no sense', async () => {
    const { code, err } = await acs(['completion', 'tcsh']);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'error: no completion for "tcsh"\n  shells: bash, zsh, fish, powershell\n',
    });
    expect((await acs(['completion', 'bash', '--json'])).code).toBe(2);
  });

  it('gets the names of profiles from a hidden command that is silent when the store is corrupt', async () => {
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: 'local\n', err: '' });
    await acs(['profile', 'add', 'work', '--base-url', 'https://work.example', '--no-check']);
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: 'work\nlocal\n', err: '' });
    writeFileSync(path.join(dir, 'config', 'profiles.json'), '{');
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: '', err: '' });
    expect(await acs(['__complete', 'else'])).toMatchObject({ code: 0, out: '', err: '' });
    expect((await acs(['--help'])).out).not.toContain('__complete');
  });
});
