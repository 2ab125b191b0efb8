import { rmSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/base/errors.ts';
import { useWorld, type Ending } from '../../../support/use-world.ts';
import type { Invocation } from '../../../support/world.ts';
import { errorOf, finish, git, json, makeRepository, run } from '../support.ts';

const at = useWorld({ spec: 'process' });

/** With a changed, a new and a deleted file; another one for each test. */
let checkout: string;
let count = 0;
beforeAll(() =>
  at.file('work.json', [
    run('echo agent >>README.md; echo agent >>new.txt; echo agent >work.txt'),
    finish('done'),
  ]),
);
beforeEach(async () => {
  checkout = await makeRepository(path.join(at.dir, `checkout-${(count += 1)}`));
  await writeFile(path.join(checkout, 'gone.txt'), 'gone\n');
  await git(checkout, 'add', '.');
  await git(checkout, 'commit', '-q', '-m', 'second');
  await git(checkout, 'rm', '-q', 'gone.txt');
  await write('README.md', 'mine\n');
  await write('new.txt', 'mine\n');
});
const write = (name: string, text: string) => writeFile(path.join(checkout, name), text);
const read = (name: string) => readFile(path.join(checkout, name), 'utf8');
const status = () => git(checkout, 'status', '--porcelain');

const start = (flags: string, ending: Ending & Omit<Invocation, 'args'> = {}) =>
  at.ends(`conv new hi --replay ${at.dir}/work.json --with-changes --json ${flags}`, {
    cwd: checkout,
    ...ending,
  });
const paths = async (id: string) => (await at.ends(`conv diff ${id} --name-only`, {})).out;
const pull = (id: string, ending: Ending = {}, flags = '') =>
  at.ends(`conv pull ${id} ${flags}`, { cwd: checkout, ...ending });

describe('conv new --with-changes', () => {
  it('starts with the files of the checkout, and only the changes of the run are pulled into it', async () => {
    const before = await status();
    const { id } = json(await start('--wait'));
    expect(await status()).toBe(before);
    expect(await paths(id)).toBe('README.md\nnew.txt\nwork.txt\n');
    await pull(id, { code: 6, err: 'README.md' }, '--3way');
    await pull(id);
    expect([await read('README.md'), await read('new.txt')]).toEqual(
      Array(2).fill('mine\nagent\n'),
    );
    expect(await status()).toBe(`${before}\n?? work.txt`);
    const env = { GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@e', EMAIL: 't@e' };
    await at.ends(`conv pull ${id} --branch agent/work`, { cwd: checkout, env });
    const log = ['log', '--format=%s', '-3', 'agent/work'];
    expect(await git(checkout, ...log)).toBe('done\nChanges of the checkout\nsecond');
  });

  it('is not pulled over a file that was changed since', async () => {
    const { id } = json(await start('--wait'));
    await write('README.md', 'mine\nand more\n');
    await pull(id, { code: 6, err: 'uncommitted changes would be overwritten: README.md' });
    expect(await read('new.txt')).toBe('mine\n');
  });

  describe('with files that look secret, are large, or are a repository', () => {
    const doubts = [
      '.env: its name is that of a secret',
      'large.bin: untracked, and larger than 10 MiB',
    ];
    beforeEach(async () => {
      await write('.env', 'TOKEN=hush-hush\n');
      await write('.env.example', 'TOKEN=\n');
      await write('large.bin', '');
      await truncate(path.join(checkout, 'large.bin'), 10 * 1024 * 1024 + 1);
      await makeRepository(path.join(checkout, 'nested'));
    });
    /** What the workspace of a start with these flags lacks of the names. */
    const lacks = async (ending: Ending & Omit<Invocation, 'args'>) => {
      const { id } = json(await start('--wait', { hides: 'hush', ...ending }));
      const names = ['.env', '.env.example', 'large.bin', 'nested', 'new.txt'];
      const folder = path.join(await workspaceOf(id), path.basename(checkout));
      const found = await Promise.all(
        names.map((name) => readFile(path.join(folder, name)).catch(() => null)),
      );
      return names.filter((_, index) => found[index] === null);
    };

    it('leaves them out by name outside a terminal', async () => {
      const err = [...doubts, 'nested/: a nested git repository'].map(
        (each) => `left out: ${each}`,
      );
      expect(await lacks({ err })).toEqual(['.env', 'large.bin', 'nested']);
    });

    it('asks on a terminal', async () => {
      const questions = doubts.map((doubt) => `${doubt}. Send it too?`);
      const err = `left out: ${doubts[0]}`;
      expect(await lacks({ answers: [false, true], questions, err })).toEqual(['.env', 'nested']);
    });

    it('leaves a changed file that is tracked as it was committed', async () => {
      await git(checkout, 'add', '.env');
      await git(checkout, 'commit', '-q', '-m', 'third');
      await write('.env', 'TOKEN=another-hush\n');
      expect(await lacks({ err: `left out: ${doubts[0]}` })).toEqual(['large.bin', 'nested']);
    });
  });

  it('refuses what has no changes of a checkout, and a dialect that takes none', async () => {
    await start('--repo acme/other', { code: 2, err: '--repo is not the path of one' });
    await start('', { code: 2, cwd: at.dir, err: 'the current folder is not a checkout' });
    for (const flag of ['--no-repo', '--branch main', '--sandbox x', '--count 2', '--workspace /x'])
      await start(flag, { code: 2, err: 'cannot be combined' });
    await start('--api v0', { code: 12, writes: [] });
  });

  it('is named where work would be missing', async () => {
    const flags = '--replay demo --dry-run';
    const err = 'uncommitted changes: the conversation starts without them; --with-changes takes';
    await at.ends(`conv new ${flags}`, { cwd: checkout, err });
  });
});

async function workspaceOf(id: string): Promise<string> {
  const { sandbox_id } = await at.json<{ sandbox_id: string }>(`conv show ${id} --json`);
  return path.join(at.world.dataDir, 'workspaces', sandbox_id);
}

describe('conv new --with-changes at a server that does not read the disk', () => {
  /** As the local service, whose document states neither paths nor commits. */
  beforeEach(() => {
    env = { ACS_CONFIG_DIR: path.join(at.dir, 'config-of-remote') };
    at.script({
      '/openapi.json': async () => {
        const headers = { 'X-Session-API-Key': at.world.service.key };
        const document = await fetch(`${at.world.service.url}/openapi.json`, { headers });
        const text = (await document.text())
          .replace('"local-paths":true', '"local-paths":false')
          .replaceAll('workspace_commit', 'workspace_comment');
        return { text, type: 'application/json' };
      },
    });
  });
  let env: Record<string, string>;
  const isStart = ({ method, path: at }: { method: string; path: string }) =>
    method === 'POST' && at === '/api/v1/app-conversations';

  it('brings everything into an empty workspace, and then sends the message', async () => {
    await chmod(path.join(checkout, 'new.txt'), 0o755);
    await symlink('nowhere', path.join(checkout, 'link'));
    await mkdir(path.join(checkout, 'deep'));
    await write('deep/naïve "name"', 'x');
    const before = await status();
    const { id } = json(await start('--no-wait', { env }));
    const { body } = at.server.asked.find(isStart) ?? {};
    expect(Object.keys(body as object)).toEqual(['conversation_id', 'replay_json']);
    await at.ends(`conv wait ${id}`, { env });
    expect(await paths(id)).toBe('README.md\nnew.txt\nwork.txt\n');
    await pull(id);
    expect(await status()).toBe(`${before}\n?? work.txt`);
  });

  it.each([
    ['acs is interrupted', () => interruption.abort(new AppError('interrupted', 'interrupted'))],
    ['the changes cannot be read', () => rmSync(checkout, { recursive: true, force: true })],
  ])('exits 11 with what completes or deletes it when %s before the message', async (_, end) => {
    interruption = new AbortController();
    at.script({
      'GET /api/v1/app-conversations': () => {
        end();
        return null;
      },
    });
    const ended = await start('--wait', { env, signal: interruption.signal, code: 11 });
    const { message, hint } = errorOf(ended);
    expect(message).toMatch(/^conversation [0-9a-f]{32} has started, and its message was not sent/);
    expect(hint).toMatch(/^send it: acs conv send \w+ <message>\ndelete it: acs conv delete \w+$/);
  });
});

let interruption: AbortController;
