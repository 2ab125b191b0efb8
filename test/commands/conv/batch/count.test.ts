import { describe, expect, it } from 'vitest';
import { finish, json, replayFile } from '../support.ts';
import { useNewWorld } from '../new-world.ts';

const at = useNewWorld();
const starts = () => at.sent().filter(({ route }) => route === 'POST /api/v1/app-conversations');

interface RunJson {
  run: number;
  id: string;
  status: string;
  exit_code: number;
  files: number | null;
}

describe('conv new --count', () => {
  it('starts the task so many times, and prints outcome, cost, time and diff size of each', async () => {
    const ended = await at.acs('--replay', 'demo', '--no-repo', '--count', '3', '--json');

    expect(ended.code, ended.err).toBe(0);
    expect(starts()).toHaveLength(3);
    const { items } = json<{ items: RunJson[] }>(ended);
    expect(items.map((item) => [item.run, item.status, item.exit_code, item.files])).toEqual([
      [1, 'finished', 0, 1],
      [2, 'finished', 0, 1],
      [3, 'finished', 0, 1],
    ]);
    expect(new Set(items.map(({ id }) => id)).size).toBe(3);
    expect(Object.keys(items[0] ?? {})).toEqual(
      'run id status exit_code reason cost_usd seconds files added removed'.split(' '),
    );
  });

  it('exits with the worst code of the runs', async () => {
    const nowhere = 'http://127.0.0.1:1/owner/name.git';
    const ended = await at.acs('--replay', 'demo', '--repo', nowhere, '--count', '2');

    expect(ended.code).toBe(1);
    expect(ended.out.split('\n').filter((line) => line.includes('failed'))).toHaveLength(2);
  });

  it('prints notices that are about all runs once', async () => {
    const replay = await replayFile(at.world, 'short.json', [finish('done')]);
    const ended = await at.acs('--replay', replay, '--count', '2');

    expect(ended.err.match(/no git checkout here/g)).toHaveLength(1);
  });

  it('--dry-run prints the request of each start', async () => {
    const ended = await at.acs('--replay', 'demo', '--no-repo', '--count', '2', '--dry-run', '--json');

    expect(json<{ requests: unknown[] }>(ended).requests).toHaveLength(2);
    expect(starts()).toEqual([]);
  });

  it.each([
    ['--no-wait', '--count, which waits, and --no-wait exclude each other'],
    ['--follow', '--count and --follow exclude each other'],
    ['--id=0a1b2c3d4e5f60718293a4b5c6d7e8f9', '--count and --id or --id-file exclude each other'],
  ])('and %s are exit 2', async (flag, message) => {
    const ended = await at.acs('hello', '--no-repo', '--count', '2', flag);

    expect(ended.code).toBe(2);
    expect(ended.err).toContain(message);
  });
});
