import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/clock.ts';
import { until } from '../support/until.ts';
import { useServeData } from './serve-data.ts';

const at = useServeData();
const { base, acs, json } = at;

describe('serve in the background', () => {
  it('serve --prune starts the service with a notice, and changes nothing when nothing is old', async () => {
    const { out, err } = await acs(['serve', '--prune', '30d', '-y', '--json']);
    expect(JSON.parse(out)).toEqual({ conversations: 0, sandboxes: 0, changed: false });
    expect(err).toContain('started the local service');
  });
});

describe('serve --prune', () => {
  const local = (...args: string[]) => acs([...args, '-p', 'local', '-q']);
  const start = async (...args: string[]) => (await local('conv', 'new', '--no-repo', ...args)).out.trim();
  const ids = async (noun: string) => (await local(noun, 'list')).out.split('\n').filter((id) => id !== '');

  it('deletes ended conversations and unused sandboxes, and --dry-run prints the requests', async () => {
    writeFileSync(path.join(base, 'endless.json'), '[{"action":"run","args":{"command":"sleep 600"}}]');
    const ended = await start('--replay', 'demo', '--wait');
    const alone = (await local('sandbox', 'start')).out.trim();
    const running = await start('--replay', 'endless.json');
    await until(async () => (await json(['conv', 'show', running, '-p', 'local'])).status === 'running');
    const { sandbox_id: inUse } = await json(['conv', 'show', running, '-p', 'local']);

    const { requests } = (await json(['serve', '--prune', '0s', '--dry-run'])) as { requests: { url: string }[] };
    expect(requests).toEqual([
      expect.objectContaining({ method: 'DELETE', url: expect.stringContaining(ended) as string }),
      expect.objectContaining({ method: 'DELETE', url: expect.stringContaining(alone) as string }),
    ]);
    expect(await json(['serve', '--prune', '1h', '-y'])).toMatchObject({ changed: false });
    expect(await ids('sandbox')).toHaveLength(3);
    expect(await json(['serve', '--prune', '0s', '-y'])).toEqual({ conversations: 1, sandboxes: 1, changed: true });
    expect(await ids('conv')).toEqual([running]);
    expect(await ids('sandbox')).toEqual([inUse]);
  });

  it('keeps an old sandbox that was used since', async () => {
    const sandbox = (await local('sandbox', 'start')).out.trim();
    const { created_at: createdAt } = await json(['sandbox', 'show', sandbox, '-p', 'local']);
    await local('sandbox', 'pause', sandbox);
    await local('sandbox', 'resume', sandbox);
    const { last_active_at: usedAt } = await json(['sandbox', 'show', sandbox, '-p', 'local']);
    const [from, to] = [Date.parse(String(createdAt)), Date.parse(String(usedAt))];
    expect(to).toBeGreaterThan(from);

    const between = clockFrom(() => Math.ceil((from + to) / 2));
    const { out } = await acs(['serve', '--prune', '0s', '-y', '--json'], { clock: between });
    expect(JSON.parse(out)).toMatchObject({ sandboxes: 0 });
    expect(await ids('sandbox')).toEqual([sandbox]);
  });

  it('keeps a conversation whose sandbox was used since, and names runs that can be resumed before it deletes them', async () => {
    writeFileSync(path.join(base, 'endless.json'), '[{"action":"run","args":{"command":"sleep 600"}}]');
    const paused = await start('--replay', 'endless.json');
    const { sandbox_id: sandbox } = await json(['conv', 'show', paused, '-p', 'local']);
    await local('sandbox', 'pause', String(sandbox));
    const { updated_at: updatedAt } = await json(['conv', 'show', paused, '-p', 'local']);
    await local('sandbox', 'resume', String(sandbox));
    await local('sandbox', 'pause', String(sandbox));
    const { last_active_at: usedAt } = await json(['sandbox', 'show', String(sandbox), '-p', 'local']);
    const [from, to] = [Date.parse(String(updatedAt)), Date.parse(String(usedAt))];
    expect(to).toBeGreaterThan(from);
    const between = { clock: clockFrom(() => Math.ceil((from + to) / 2)) };
    expect(JSON.parse((await acs(['serve', '--prune', '0s', '-y', '--json'], between)).out)).toMatchObject({
      conversations: 0,
    });
    const { out, err } = await acs(['serve', '--prune', '0s', '-y', '--json']);
    expect(JSON.parse(out)).toMatchObject({ conversations: 1 });
    expect(JSON.parse(err)).toEqual({ notice: `deleting runs that were stopped before their end, too: ${paused}` });
  });

  it('deletes a conversation whose log is damaged', async () => {
    const damaged = await start('--replay', 'demo', '--wait');
    await acs(['serve', '--stop']);
    const logs = path.join(at.dataDir, 'events');
    const [sandbox = ''] = readdirSync(logs);
    // Without the journal beside it, which may hold the pages that are damaged here.
    for (const each of readdirSync(path.join(logs, sandbox))) rmSync(path.join(logs, sandbox, each));
    writeFileSync(path.join(logs, sandbox, `${damaged}.db`), 'no database at all '.repeat(500));
    const read = await local('conv', 'events', damaged);
    expect({ code: read.code, err: read.err }).toEqual({
      code: 9,
      err: expect.stringContaining('is damaged') as string,
    });
    expect(await json(['serve', '--prune', '0s', '-y'])).toMatchObject({ conversations: 1 });
    expect(await ids('conv')).toEqual([]);
  });

  it('works with a service of V0 only', async () => {
    await acs(['serve', '--detach', '--api', 'v0']);
    await start('--replay', 'demo', '--wait');
    expect(await json(['serve', '--prune', '0s', '-y'])).toEqual({ conversations: 1, sandboxes: 0, changed: true });
    await until(() => readdirSync(path.join(at.dataDir, 'workspaces')).length === 0);
  });

  it('as a dry run exits 3 and starts nothing', async () => {
    expect((await acs(['serve', '--prune', '1d', '--dry-run'])).code).toBe(3);
    expect(existsSync(at.dataDir)).toBe(false);
  });
});
