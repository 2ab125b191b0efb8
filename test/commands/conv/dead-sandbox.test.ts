import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useConvWorld } from './conv-world.ts';
import { errorOf, json, startHeldRun, until, type OutcomeJson } from './support.ts';

const at = useConvWorld({ api: 'v1', spec: 'process' });
const { conv } = at;
const call = async (path: string, init: RequestInit = {}): Promise<unknown> => {
  const headers = { 'x-session-api-key': at.world.service.key, 'content-type': 'application/json' };
  return await (await fetch(`${at.world.service.url}${path}`, { ...init, headers })).json();
};

/** Kills the only worker of the service, which is a child of this process. */
async function killWorker(): Promise<void> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  const lines = stdout.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line));
  const workers = lines.filter((line) => Number(line?.[2]) === process.pid && line?.[3]?.includes('worker.js'));
  expect(workers).toHaveLength(1);
  process.kill(Number(workers[0]?.[1]), 'SIGKILL');
}

it('a run whose sandbox was killed has failed, and conv send starts it only with --resume', async () => {
  const { id } = await startHeldRun(at.world);
  const following = conv('follow', id, '--json');
  await killWorker();
  const followed = await following;
  const last = JSON.parse(followed.out.trimEnd().split('\n').at(-1) ?? '') as OutcomeJson;
  expect(followed.code).toBe(1);
  expect(last).toMatchObject({ status: 'failed', exit_code: 1, reason: { code: 'SandboxCrashed' } });
  expect(last.reason?.text).toContain('SIGKILL');
  const waited = json<OutcomeJson>(await conv('wait', id, '--json'));
  expect(waited).toMatchObject({ status: 'failed', exit_code: 1, reason: last.reason });

  const refused = await conv('send', id, 'go on', '--json');
  expect(refused.code).toBe(6);
  expect(errorOf(refused).message).toContain('is in error');
  expect(errorOf(refused).hint).toContain('--resume');
  const sent = await conv('send', id, 'go on', '--resume', '--json');
  expect(sent.code, sent.err).toBe(0);
  expect(json(await conv('show', id, '--json'))).toMatchObject({ sandbox_status: 'running' });
});

it('conv show takes the id of a failed start task, and conv wait exits 1 for it', async () => {
  const task = (await call('/api/v1/app-conversations', {
    method: 'POST',
    body: JSON.stringify({ selected_repository: `${at.world.dir}/nowhere`, replay_json: 'demo' }),
  })) as { id: string };
  await until(async () => json(await conv('show', task.id, '--json')).status !== 'starting');
  const shown = json(await conv('show', task.id, '--json'));
  expect(shown).toMatchObject({ id: null, start_task_id: task.id, status: 'failed', reason: { code: 'start-failed' } });
  expect(shown.reason?.text).toContain('nowhere');
  expect((await conv('wait', task.id)).code).toBe(1);
  expect((await conv('follow', task.id)).code).toBe(1);
});
