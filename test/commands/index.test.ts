import { describe, expect, it } from 'vitest';
import { realTree } from '../../scripts/generate.ts';
import { completionTree, flatten } from '../../src/commands/completion/tree.ts';

/** Every command of the contract, written out: neither a removed nor a renamed one can go unnoticed. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  conv: [
    ...['new', 'list', 'show', 'follow', 'events', 'wait', 'result', 'send', 'confirm', 'stop', 'resume'],
    ...['diff', 'pull', 'export', 'open', 'chat', 'rename', 'delete'],
  ],
  sandbox: ['list', 'show', 'start', 'pause', 'resume', 'wait', 'delete', 'exec', 'shell', 'cp'],
  specs: ['list', 'show'],
  settings: ['get', 'set', 'unset', 'edit', 'schema'],
  'settings profile': ['list', 'show', 'save', 'use', 'rename', 'delete'],
  secret: ['list', 'set', 'delete'],
  'git-provider': ['list', 'set', 'delete'],
  repo: ['list', 'branches', 'tasks'],
  profile: ['add', 'list', 'show', 'use', 'rename', 'delete'],
  '': ['login', 'logout', 'whoami', 'doctor', 'api', 'serve', 'batch', 'completion', 'help'],
};

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  list: ['ls'],
  delete: ['rm', 'remove'],
  show: ['view', 'get'],
  conv: ['conversation'],
  sandbox: ['sb'],
};

describe('the tree of commands', () => {
  it('has every command of the contract, and no other', async () => {
    const leaves = flatten(completionTree(await realTree())).filter(({ commands }) => commands.length === 0);
    const wanted = Object.entries(COMMANDS).flatMap(([noun, verbs]) =>
      verbs.map((verb) => ['acs', ...(noun === '' ? [] : [noun]), verb].join(' ')),
    );

    expect(leaves.map(({ path }) => path).sort()).toEqual(wanted.sort());
  });

  it('has the same aliases under every noun', async () => {
    const all = flatten(completionTree(await realTree()));
    const missing = all.flatMap(({ path, names }) =>
      (ALIASES[names[0] ?? ''] ?? []).filter((alias) => !names.includes(alias)).map((alias) => `${path}: ${alias}`),
    );

    expect(missing).toEqual([]);
  });
});
