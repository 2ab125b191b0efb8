/** What a conversation with a model keeps when its worker is killed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sandboxOfTest } from '../../agent-server/support/shared-sandboxes.ts';
import { ID, message, type TestWorker, until } from '../../agent-server/support/worker.ts';
import { call, delta, FINISH, ofKind, run, send, useEndpoint } from './endpoint.ts';

const sandbox = sandboxOfTest();
const endpoint = useEndpoint();

async function start(): Promise<TestWorker> {
  const worker = await sandbox.start();
  await worker.startConversation(null, { agent: endpoint.agent() });
  return worker;
}

const post = (worker: TestWorker, route: string, body?: unknown) =>
  worker.call('POST', `/api/conversations/${ID}/${route}`, body);

it('the list of tasks is kept after a crash', async () => {
  const tasks = [
    { title: 'Look', status: 'done' },
    { title: 'Change', notes: 'a.txt', status: 'in_progress' },
  ];
  endpoint.reply(call(['task_tracker', { command: 'plan', task_list: tasks }]), call(FINISH));
  const first = await start();
  await first.untilStatus('finished');
  await first.kill('SIGKILL');
  endpoint.reply(call(['task_tracker', { command: 'view' }]), call(FINISH));
  const second = await sandbox.start();
  await post(second, 'events', message('And now?'));
  await second.untilStatus('finished');
  expect(endpoint.newest('tool')?.content).toBe('- [done] Look\n- [in_progress] Change: a.txt');
});

it('after a crash between two calls of one answer the model is called again', async () => {
  endpoint.reply(call(run('echo one >> log'), run('echo two >> log; sleep 600')), call(FINISH));
  const first = await start();
  await until('the second call', () => {
    const file = path.join(sandbox.place.workspace, 'log');
    return existsSync(file) && readFileSync(file, 'utf8') === 'one\ntwo\n';
  });
  await first.kill('SIGKILL');
  const second = await sandbox.start();
  expect(await second.status()).toBe('paused');
  await post(second, 'run');
  await second.untilStatus('finished');
  expect(ofKind(await second.events(), 'AgentErrorEvent')).toHaveLength(1);
  expect(endpoint.newest('tool')?.content).toMatch(/^The service ended before/);
  expect(endpoint.asked.at(-1)?.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'tool',
  ]);
});

it('a crash during a call of the model loses no event, and the next run calls it again', async () => {
  const closed = new Promise((resolve) => {
    endpoint.reply((response) => {
      send(response, delta({ content: 'I think' }));
      response.once('close', resolve);
    });
  });
  const first = await start();
  await until('the call', () => endpoint.asked.length === 1);
  const before = await first.events();
  await first.kill('SIGKILL');
  await closed;
  const second = await sandbox.start();
  expect(await second.status()).toBe('paused');
  expect((await second.events()).slice(0, before.length)).toEqual(before);
  endpoint.reply(call(FINISH));
  await post(second, 'run');
  await second.untilStatus('finished');
});
