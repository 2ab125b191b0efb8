/** The limits of a conversation: waits before a call is repeated, results, and the history. */
import { describe, expect, it } from 'vitest';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import type { OwnWorker } from '../../agent-server/support/worker.ts';
import { call, fail, FINISH, ofKind, type Reply, run, say, useEndpoint } from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint({
  '/api/ps': { models: [{ name: 'qwen3:8b', context_length: 4096 }] },
  '/api/show': { parameters: '' },
});

async function events(status: string, llm: object, condenser?: object) {
  const agent = { ...endpoint.agent(llm), condenser };
  await worker.startConversation(null, { agent });
  await worker.untilStatus(status);
  return worker.events();
}

// A wait of more than 120 s ends the run.
it.each([
  ['retry_min_wait', { retry_min_wait: 200 }, 1],
  ['retry_multiplier', { retry_multiplier: 200, retry_max_wait: 300 }, 1],
  ['retry_max_wait', { retry_multiplier: 200, retry_max_wait: 0, retry_min_wait: 0 }, 4],
])('%s decides how long a refused call waits', async (_member, llm, calls) => {
  endpoint.reply(fail(503, 'Overloaded'));
  await events('error', { num_retries: 3, ...llm });
  expect(endpoint.asked).toHaveLength(calls);
});

it.each([
  [2000, /^1\n2\n[^]{980,1010}\n\[\.\.\. \d+ characters left out \.\.\.\]\n[^]*999\n1000\n/],
  [30_000, /^1\n2\n3\n[^.]*999\n1000\n/],
])('a result is shown with max_message_chars = %i, without its middle', async (length, shown) => {
  endpoint.reply(call(run('seq 1 1000')), call(FINISH));
  await events('finished', { max_message_chars: length });
  expect(endpoint.newest('tool')?.content).toMatch(shown);
});

describe('the condenser', () => {
  const steps = ['1', '2', '3'].map((text) => call(run(`echo ${text}`)));

  it('summarizes when there are more events than max_size', async () => {
    endpoint.reply(...steps.slice(0, 2), say('A summary.'), call(FINISH));
    const found = await events('finished', {}, { max_size: 4 });
    expect(ofKind(found, 'Condensation')).toMatchObject([{ summary: 'A summary.' }]);
  });

  it('summarizes when the history has more than max_tokens', async () => {
    const long = call(run('seq 1 500'));
    endpoint.reply(long, long, say('A summary.'), call(FINISH));
    const found = await events('finished', {}, { max_tokens: 1000 });
    expect(ofKind(found, 'Condensation')).toMatchObject([{ summary: 'A summary.' }]);
  });

  it.each([
    [0, 0, 0],
    [2, 1, 0],
    [3, 1, 0],
    [4, 3, 1],
  ])('with keep_first = %i keeps the first %i events', async (keep_first, offset, step) => {
    endpoint.reply(...steps, say('A summary.'), call(FINISH));
    const found = await events('finished', {}, { max_size: 6, keep_first });
    const [condensation] = ofKind(found, 'Condensation');
    const kept = ofKind(found, 'MessageEvent').concat(ofKind(found, 'ActionEvent'))[
      offset === 0 ? 0 : step + 1
    ];
    expect(condensation?.['summary_offset']).toBe(offset);
    expect((condensation?.['forgotten_event_ids'] as string[])[0]).toBe(kept?.id);
  });

  it('calls its own model, and the key of that model is masked', async () => {
    endpoint.reply(...steps.slice(0, 2), fail(401, 'No such key: sk-of-the-condenser'));
    const llm = { model: 'small', base_url: endpoint.url, api_key: 'sk-of-the-condenser' };
    const condenser = { kind: 'LLMSummarizingCondenser', llm, max_size: 4 };
    const found = await events('error', {}, condenser);
    expect(endpoint.asked.map(({ model }) => model)).toEqual(['m', 'm', 'small']);
    expect(found.at(-1)?.['detail']).toContain('No such key: <secret-hidden>');
  });

  it.each([[{ kind: 'NoOpCondenser' }], [{ enabled: false }]])(
    'that is %j summarizes nothing, and a history that is too long ends the run',
    async (condenser) => {
      endpoint.reply(...steps, fail(400, 'prompt is too long'));
      const llm = { max_input_tokens: 1 };
      const found = await events('error', llm, { ...condenser, max_size: 2 });
      expect(ofKind(found, 'Condensation')).toEqual([]);
      expect(found.at(-1)).toMatchObject({ code: 'LLMContextWindowExceedError' });
    },
  );
});

describe('the context', () => {
  it('of Ollama is read, and requests stay within it', async () => {
    const reply: Reply = (response) => {
      const last = JSON.stringify(endpoint.asked.at(-1)?.messages.at(-1));
      const count = String(endpoint.asked.length);
      if (last.includes('Summarize this.')) say('A summary.')(response);
      else call(endpoint.asked.length > 9 ? FINISH : run(`seq ${count} 3000`))(response);
    };
    endpoint.reply(reply);
    const found = await events('finished', { model: 'ollama/qwen3:8b' });
    expect(ofKind(found, 'Condensation').length).toBeGreaterThan(0);
    const lengths = endpoint.asked.map(({ messages }) => JSON.stringify(messages).length / 4);
    expect(Math.max(...lengths)).toBeLessThan(4096);
  });

  it('that a refusal names is kept for the conversation', async () => {
    const long = call(run('seq 1 1000'));
    const tooLong = fail(400, "This model's maximum context length is 4000 tokens");
    endpoint.reply(call(run('true')), long, tooLong, say('A summary.'), long, call(FINISH));
    await events('finished', {});
    expect(endpoint.newest('tool')?.content).toMatch(/characters left out/);
  });
});
