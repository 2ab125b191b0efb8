import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeOldCaches } from '../../../src/service/sandboxes/caches.ts';
import { hasBubblewrap } from '../../support/bubblewrap.ts';
import { appOfEachTest, ended, startedTask, trajectory } from './support.ts';

const app = appOfEachTest({ spec: 'bubblewrap' });
const DAY = 24 * 3_600_000;

function makeRepository(name: string): string {
  const folder = path.join(app.dir, name);
  mkdirSync(folder);
  execFileSync('git', ['-C', folder, 'init', '-q']);
  return folder;
}

/** What a command prints in a new sandbox of a repository. */
async function printed(repository: string, command: string): Promise<string> {
  const replay_json = trajectory(`{ ${command}; } > printed 2>&1`);
  const task = await startedTask(app, { replay_json, selected_repository: repository });
  const id = task.app_conversation_id ?? '';
  await ended(app, id);
  const file = path.join(
    app.dir,
    'workspaces',
    task.sandbox_id ?? '',
    path.basename(repository),
    'printed',
  );
  return execFileSync('cat', [file], { encoding: 'utf8' });
}

describe.runIf(hasBubblewrap)('caches of package managers', () => {
  it('last for one repository, and no other repository sees what an agent wrote', async () => {
    const [own, other] = [makeRepository('own'), makeRepository('other')];
    const folders = '~/.cache/pip ~/.cache/uv $npm_config_cache $CARGO_HOME $GOMODCACHE';
    const poison = `for f in ${folders}; do mkdir -p $f && echo poisoned > $f/package; done`;
    const leave = `ln -s ${own} ~/.cache/linked; ln -s ${own} ~/.cache/npm-new; rm -rf ~/.cache/pip`;
    await printed(own, `${poison}; ${leave}; ln -s / ~/.cache/pip`);
    const look = 'grep -rs poisoned ~/.cache | wc -l; ls -A ~/.cache';
    const again = await printed(own, look);
    expect(again).toMatch(/^4\n/);
    expect(await printed(other, look)).toBe('0\n');
    expect(readdirSync(path.join(app.dir, 'caches'))).toHaveLength(2);
  });

  it('keep a sandbox from a second repository; one without a repository takes several', async () => {
    const [own, other] = [makeRepository('first'), makeRepository('second')];
    const body = { replay_json: 'demo', selected_repository: own };
    const { sandbox_id } = await startedTask(app, body);
    expect((await startedTask(app, { ...body, sandbox_id })).status).toBe('READY');
    const refused = await app.post('/api/v1/app-conversations', {
      ...body,
      sandbox_id,
      selected_repository: other,
    });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain('has the caches of another repository');
    const bare = await startedTask(app, { replay_json: 'demo' });
    for (const selected_repository of [own, other]) {
      const start = { ...body, selected_repository, sandbox_id: bare.sandbox_id };
      expect((await startedTask(app, start)).status).toBe('READY');
    }
  });
});

it('caches that no sandbox has used for 30 days are removed, without what their links lead to', async () => {
  const dir = path.join(app.dir, 'caches');
  const now = Date.now();
  for (const [name, days] of Object.entries({ old: 31, used: 31, new: 29, 'rest.old': 0 })) {
    mkdirSync(path.join(dir, name), { recursive: true });
    writeFileSync(path.join(app.dir, 'kept'), '');
    symlinkSync(app.dir, path.join(dir, name, 'link'));
    utimesSync(path.join(dir, name), new Date(now), new Date(now - days * DAY));
  }
  await removeOldCaches(dir, now, (name) => name === 'used');
  expect(readdirSync(dir).sort()).toEqual(['new', 'used']);
  expect(existsSync(path.join(app.dir, 'kept'))).toBe(true);
});
