import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useWorld } from '../../support/use-world.ts';
import {
  errorOf,
  jsonLines,
  startHeldRun,
  until,
  type ConversationJson,
  type OutcomeJson,
} from './support.ts';

const at = useWorld({ api: 'v1', spec: 'process', noun: 'conv' });
const call = async (path: string, init: RequestInit = {}): Promise<unknown> => {
  const headers = { 'x-session-api-key': at.world.service.key, 'content-type': 'application/json' };
  return await (await fetch(`${at.world.service.url}${path}`, { ...init, headers })).json();
};

/** Kills the only worker of the service, which is a child of this process. */
async function killWorker(): Promise<void> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  const lines = stdout.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line));
  const workers = lines.filter(
    (line) => Number(line?.[2]) === process.pid && line?.[3]?.includes('worker.js'),
  );
  expect(workers).toHaveLength(1);
  process.kill(Number(workers[0]?.[1]), 'SIGKILL');
}

it('a run whose sandbox was killed has failed, and conv send starts it only with --resume', async () => {
  const { id } = await startHeldRun(at.world);
  const following = at.ends(`follow ${id} --json`, { code: 1 });
  await killWorker();
  const last = jsonLines<OutcomeJson>((await following).out).at(-1);
  expect(last).toMatchObject({
    status: 'failed',
    exit_code: 1,
    reason: { code: 'SandboxCrashed' },
  });
  expect(last?.reason?.text).toContain('SIGKILL');
  await at.ends(`wait ${id} --json`, {
    code: 1,
    out: { status: 'failed', exit_code: 1, reason: last?.reason },
  });

  const refused = errorOf(await at.ends(`send ${id} again --json`, { code: 6 }));
  expect(refused.message).toContain('is in error');
  expect(refused.hint).toContain('--resume');
  await at.ends(`send ${id} again --resume --json`, {});
  await at.ends(`show ${id} --json`, { out: { sandbox_status: 'running' } });
});

it('conv show takes the id of a failed start task, and conv wait exits 1 for it', async () => {
  const task = (await call('/api/v1/app-conversations', {
    method: 'POST',
    body: JSON.stringify({ selected_repository: `${at.world.dir}/nowhere`, replay_json: 'demo' }),
  })) as { id: string };
  const shown = () => at.json<ConversationJson>(`show ${task.id}`);
  await until(async () => (await shown()).status !== 'starting');
  const { reason, ...failed } = await shown();
  expect(failed).toMatchObject({ id: null, start_task_id: task.id, status: 'failed' });
  expect(reason).toMatchObject({
    code: 'start-failed',
    text: expect.stringContaining('nowhere') as string,
  });
  for (const verb of ['wait', 'follow']) await at.ends(`${verb} ${task.id}`, { code: 1 });
});
