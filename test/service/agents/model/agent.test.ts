/**
 * A worker whose conversation is driven by the scripted model behind an OpenAI-compatible
 * interface.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ScriptedModel, startModel } from '../../../genuine/model.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { sandboxOfTest, useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import {
  ID,
  type OwnWorker,
  readIfThere,
  type TestWorker,
} from '../../agent-server/support/worker.ts';

const sandbox = sandboxOfTest();
let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
let model: ScriptedModel;
beforeAll(async () => {
  model = await startModel('/nowhere');
});
afterAll(() => model.close());

const KEY = 'sk-key-of-the-model';

function start(worker: TestWorker, words: string, more: object = {}) {
  return worker.startConversation(null, {
    initial_message: { role: 'user', content: [{ type: 'text', text: words }], run: true },
    agent: { llm: { model: 'openai/gpt-4o', api_key: KEY, base_url: model.url, num_retries: 0 } },
    ...more,
  });
}

function content(file: string): string {
  return readFileSync(path.join(sandbox.place.workspace, file), 'utf8');
}

function outline(events: StoredEvent[]): string[] {
  return events
    .filter(({ kind }) => kind !== 'ConversationStateUpdateEvent')
    .map(({ kind }) => kind);
}

it('a model works with the terminal, finishes, and its use is counted', async () => {
  await start(worker, 'WORK', {
    agent: {
      llm: {
        model: 'openai/gpt-4o',
        api_key: KEY,
        base_url: model.url,
        input_cost_per_token: 0.001,
        output_cost_per_token: 0.01,
      },
    },
  });
  await worker.untilStatus('finished');
  const events = await worker.events();
  const pair = ['ActionEvent', 'ObservationEvent'];
  expect(outline(events)).toEqual(['SystemPromptEvent', 'MessageEvent', ...pair, ...pair, ...pair]);
  expect(events.map((event) => event['tool_name']).filter(Boolean)).toEqual(
    ['terminal', 'terminal', 'finish'].flatMap((name) => [name, name]),
  );
  expect(readIfThere(worker, 'hello.txt')).toBe('hello from the agent\n');
  const { body } = await worker.call('GET', `/api/conversations/${ID}`);
  expect(body).toMatchObject({
    stats: {
      usage_to_metrics: {
        agent: {
          accumulated_cost: expect.closeTo(3 * (100 * 0.001 + 20 * 0.01), 10) as unknown,
          accumulated_token_usage: { prompt_tokens: 300, completion_tokens: 60 },
        },
      },
    },
  });
});

it('the key of a model is in no event and no answer, and without a price the cost is a number that is marked as unknown', async () => {
  const llm = { model: 'openai/of-no-table', api_key: KEY, base_url: model.url, num_retries: 0 };
  await start(worker, `WORK ${KEY}`, { agent: { llm } });
  await worker.untilStatus('finished');
  const { body } = await worker.call('GET', `/api/conversations/${ID}`);
  const agent = expect.objectContaining({
    accumulated_cost: 0,
    local_cost_unknown: true,
  }) as unknown;
  expect(body).toMatchObject({ stats: { usage_to_metrics: { agent } } });
  const stats = (await worker.events()).filter((event) => event['key'] === 'stats');
  expect(stats.at(-1)).toMatchObject({ value: { usage_to_metrics: { agent } } });
  expect(JSON.stringify([await worker.events(), body])).not.toContain(KEY);
});

it('after a crash of the worker a message continues the history that the log has', async () => {
  const first = await sandbox.start();
  await start(first, 'PLAIN');
  await first.untilStatus('finished');
  await first.kill('SIGKILL');
  const second = await sandbox.start();
  await second.call('POST', `/api/conversations/${ID}/events`, {
    role: 'user',
    content: [{ type: 'text', text: 'Now WORK.' }],
    run: true,
  });
  await second.untilStatus('finished');
  expect(content('hello.txt')).toBe('hello from the agent\n');
});

it('an action that awaits approval is executed after a crash and an approval', async () => {
  const first = await sandbox.start();
  await start(first, 'RISKY', { confirmation_policy: { kind: 'ConfirmRisky' } });
  await first.untilStatus('waiting_for_confirmation');
  expect(existsSync(path.join(sandbox.place.workspace, 'risky.txt'))).toBe(false);
  await first.kill('SIGKILL');
  const second = await sandbox.start();
  await second.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, {
    accept: true,
  });
  await second.untilStatus('finished');
  expect(content('risky.txt')).toBe('carried out\n');
});

it('a model that repeats itself ends the run as stuck', async () => {
  await start(worker, 'LOOP');
  await worker.untilStatus('stuck');
  expect(outline(await worker.events()).filter((kind) => kind === 'ActionEvent')).toHaveLength(4);
});

it('a sandbox without isolation whose spec was not named runs a replay and refuses a model', async () => {
  const worker = await sandbox.start({ spec: 'process', fellBack: true });
  expect(await start(worker, 'WORK')).toMatchObject({
    status: 501,
    body: { detail: expect.stringContaining('isolation') as string },
  });
  expect(await worker.outputsOf('echo replayed')).toEqual(['replayed']);
});

it('an agent has the tools that its client names, besides think and finish', async () => {
  const llm = { model: 'openai/gpt-4o', base_url: model.url, num_retries: 0 };
  await start(worker, 'WORK', {
    agent: { llm, tools: [{ name: 'FileEditorTool' }, { name: 'browser_tool_set' }] },
  });
  await worker.untilStatus('finished');
  const [prompt] = await worker.events();
  const titles = (prompt?.['tools'] as { title: string }[]).map(({ title }) => title);
  expect(titles).toEqual(['file_editor', 'think', 'finish']);
  expect(readIfThere(worker, 'hello.txt')).toBe(null);
});
