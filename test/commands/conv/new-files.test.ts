import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createWorld } from '../../support/world.ts';
import { useNewWorld } from './new-world.ts';
import { errorOf, json } from './support.ts';

const at = useNewWorld();
const { acs } = at;

describe('a mistake in flags and files', () => {
  const bad: [string, string[], number][] = [
    ['an empty message', ['', '--no-repo'], 2],
    ['a message of blanks', ['  \n', '--no-repo'], 2],
    ['no message at all', ['--no-repo'], 2],
    ['two messages', ['one', '--file', 'task.md'], 2],
    ['a message file that is not there', ['--file', 'nowhere.md'], 3],
    ['a replay that is not there', ['--no-repo', '--replay', 'nowhere.json'], 3],
    ['MCP servers that are not there', ['hi', '--mcp-config', 'nowhere.json'], 3],
    ['instructions that are not there', ['hi', '--instructions', 'nowhere.md'], 3],
    ['an image that is not there', ['hi', '--image', 'nowhere.png'], 3],
    ['a folder for a file', ['--file', '.'], 3],
    ['a replay that is not JSON', ['--replay', 'broken.json'], 2],
    ['a replay without steps acs knows', ['--no-repo', '--replay', 'odd.json'], 2],
    ['MCP servers that are not JSON', ['hi', '--mcp-config', 'broken.json'], 2],
    ['MCP servers of a wrong form', ['hi', '--mcp-config', 'odd-mcp.json'], 2],
    ['an image that is none', ['hi', '--image', 'broken.json'], 2],
    ['a secret that is not set', ['hi', '--secret', 'NOT_SET_HERE'], 2],
    ['a secret with its value', ['hi', '--secret', 'NAME=value'], 2],
    ['an id of digits only', ['hi', '--id', '1'.repeat(32)], 2],
    ['an empty branch', ['hi', '-b', ''], 2],
    ['a branch without a repository', ['hi', '--no-repo', '-b', 'main'], 2],
    ['a dialect that does not exist', ['hi', '--api', 'v2'], 2],
    ['a duration without a unit', ['hi', '--wait-timeout', '30'], 2],
    ['two readers of stdin', ['-', '--file', '-'], 2],
    ['--no-wait and --follow', ['hi', '--no-wait', '--follow'], 2],
    ['a limit for a wait, and --no-wait', ['hi', '--no-wait', '--wait-timeout', '5m'], 2],
    ['a folder that is no checkout', ['hi', '--repo', './nowhere'], 5],
    ['a sandbox that is not there', ['hi', '--sandbox', 'doesnotexist'], 5],
    ['no model and no replay', ['hi', '--no-repo'], 3],
  ];

  beforeAll(async () => {
    await writeFile(path.join(at.world.dir, 'broken.json'), '{"a":');
    await writeFile(path.join(at.world.dir, 'odd.json'), '[{"action":"juggle"}]');
    await writeFile(path.join(at.world.dir, 'odd-mcp.json'), '{"stdio_servers":[{"name":"a b"}]}');
  });

  it.each(bad)('%s exits before anything is started', async (_, args, code) => {
    const before = json<{ items: unknown[] }>(await at.world.acs('conv', 'list', '--all-pages', '--json')).items.length;
    const ended = await acs(...args, '--json');
    expect(ended.code, ended.err).toBe(code);
    expect(ended.out).toBe('');
    expect(errorOf(ended).message).not.toBe('');
    const after = json<{ items: unknown[] }>(await at.world.acs('conv', 'list', '--all-pages', '--json')).items.length;
    expect(after).toBe(before);
  });

  it('the demo exits 12 at a server that does not have it', async () => {
    const v0 = await createWorld({ api: 'v0' });
    try {
      const ended = await v0.acs('conv', 'new', '--api', 'v1', '--no-repo', 'hi', '--json');
      expect(ended.code).toBe(12);
    } finally {
      await v0.close();
    }
  });
});
