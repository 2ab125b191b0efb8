/** A worker whose conversation is driven by an endpoint that the test speaks for. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import {
  ID,
  message,
  type OwnWorker,
  readIfThere,
  until,
} from '../../agent-server/support/worker.ts';
import {
  call,
  delta,
  fail,
  FINISH,
  ofKind,
  type Reply,
  run,
  say,
  send,
  useEndpoint,
} from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint();

async function start(more: object = {}, llm: object = {}): Promise<void> {
  await worker.startConversation(null, { agent: endpoint.agent(llm), ...more });
}

const post = (route: string, body?: unknown) =>
  worker.call('POST', `/api/conversations/${ID}/${route}`, body);
const read = (name: string): string | null => readIfThere(worker, name);

async function eventsAt(status = 'finished'): Promise<StoredEvent[]> {
  await worker.untilStatus(status);
  return worker.events();
}

describe('several calls in one answer', () => {
  const TWO = call(run('echo one >> log'), run('echo two >> log'));
  const always = { confirmation_policy: { kind: 'AlwaysConfirm' } };
  const respond = (accept: boolean, reason?: string) =>
    post('events/respond_to_confirmation', { accept, ...(reason === undefined ? {} : { reason }) });

  it('are executed in order, and the model gets both results', async () => {
    endpoint.reply(TWO, call(FINISH));
    await start();
    await eventsAt();
    expect(read('log')).toBe('one\ntwo\n');
    expect(endpoint.asked.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
    ]);
  });

  it('await approval one after the other', async () => {
    endpoint.reply(TWO, call(FINISH));
    await start(always);
    await worker.untilStatus('waiting_for_confirmation');
    expect(read('log')).toBe(null);
    await respond(true);
    await until('the first result', () => read('log') === 'one\n');
    await worker.untilStatus('waiting_for_confirmation');
    expect(endpoint.asked).toHaveLength(1);
    await respond(true);
    await worker.untilStatus('finished');
    expect(read('log')).toBe('one\ntwo\n');
  });

  it('are dropped after the one that is rejected, whose reason the model gets', async () => {
    endpoint.reply(TWO, call(FINISH));
    await start(always);
    await worker.untilStatus('waiting_for_confirmation');
    await respond(false, 'use printf');
    await post('run');
    await worker.untilStatus('finished');
    expect(read('log')).toBe(null);
    expect(endpoint.newest('tool')?.content).toBe('The user rejected this action: use printf');
    expect(endpoint.asked).toHaveLength(2);
  });
});

it('a command of high risk awaits approval, also when the model gives it a low risk', async () => {
  endpoint.reply(call(run('touch a')), call(run('git push --force')), call(FINISH));
  await start({ confirmation_policy: { kind: 'ConfirmRisky' } });
  const events = await eventsAt('waiting_for_confirmation');
  expect(events.findLast(({ kind }) => kind === 'ActionEvent')).toMatchObject({
    security_risk: 'HIGH',
  });
});

describe('during a call of the model', () => {
  /** Begins an answer and waits for the end of its connection. */
  function hold(): Promise<void> {
    return new Promise((resolve) => {
      endpoint.reply((response) => {
        send(response, delta({ content: 'I think' }));
        response.once('close', resolve);
      });
    });
  }

  it('an interruption pauses the run and closes the connection', async () => {
    const closed = hold();
    await start();
    await until('the call', () => endpoint.asked.length === 1);
    await post('interrupt');
    await closed;
    expect(await worker.status()).toBe('paused');
    expect((await worker.events()).at(-1)?.kind).toBe('InterruptEvent');
    endpoint.reply(call(FINISH));
    await post('run');
    await worker.untilStatus('finished');
  });

  it('a message is in the next call', async () => {
    let answer = (): void => undefined;
    endpoint.reply((response) => (answer = () => call(run('true'))(response)), call(FINISH));
    await start();
    await until('the call', () => endpoint.asked.length === 1);
    await post('events', message('Also do this.', false));
    answer();
    await worker.untilStatus('finished');
    expect(JSON.stringify(endpoint.newest('user'))).toContain('Also do this.');
  });

  it('a message keeps a run that would have ended', async () => {
    let answer = (): void => undefined;
    endpoint.reply((response) => (answer = () => say('Done.')(response)), say('That too.'));
    await start();
    await until('the call', () => endpoint.asked.length === 1);
    await post('events', message('Also do this.', false));
    answer();
    await until('the second call', () => endpoint.asked.length === 2);
    await worker.untilStatus('finished');
  });

  it('a pause waits for the end of the step', async () => {
    let answer = (): void => undefined;
    endpoint.reply(
      (response) => (answer = () => call(run('echo x > log'))(response)),
      call(FINISH),
    );
    await start();
    await until('the call', () => endpoint.asked.length === 1);
    const paused = post('pause');
    answer();
    await paused;
    expect([await worker.status(), read('log')]).toEqual(['paused', 'x\n']);
  });
});

describe('limits', () => {
  it('max_iterations ends the run', async () => {
    endpoint.reply(...['1', '2', '3'].map((n) => call(run(`echo ${n}`))));
    await start({ max_iterations: 2 });
    const events = await eventsAt('error');
    expect(events.at(-1)).toMatchObject({ code: 'MaxIterationsReached' });
    expect(endpoint.asked).toHaveLength(2);
  });

  it('max_budget_per_task ends the run of a model whose price is known', async () => {
    endpoint.reply(...['1', '2', '3', '4'].map((n) => call(run(`echo ${n}`))));
    const price = { input_cost_per_token: 0.01, output_cost_per_token: 0.05 };
    await start({ max_budget_per_task: 3.5 }, price);
    const events = await eventsAt('error');
    expect(events.at(-1)).toMatchObject({
      code: 'MaxBudgetReached',
      detail: expect.stringContaining('$3.5') as string,
    });
    expect(endpoint.asked).toHaveLength(2);
  });
});

it.each([
  ['openai/gpt-5-pro', {}, '', 'MaxBudgetReached', 3],
  ['o3-pro', { output_cost_per_token: 9 }, '', 'MaxBudgetReached', 3],
  ['ours', { model_canonical_name: 'gpt-5-pro' }, '', 'MaxBudgetReached', 3],
  ['openai/gpt-5-pro', {}, 'without usage', 'MaxBudgetUnknown', 1],
  ['openai/gpt-5-pro', {}, 'with a negative usage', 'MaxBudgetUnknown', 1],
])('a budget for %s (%j) %s ends the run with %s', async (model, llm, what, code, calls) => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: -1 },
  };
  const own: Reply = (response) => {
    send(response, delta({ content: 'Let me look.' }, 'stop'));
    send(response, ...(what === 'without usage' ? [] : [{ choices: [], usage }]), '[DONE]');
    response.end();
  };
  endpoint.reply(what === '' ? call(run('true')) : own);
  await start({ max_budget_per_task: 0.01 }, { model, ...llm });
  expect((await eventsAt('error')).at(-1)).toMatchObject({ code });
  expect(endpoint.asked).toHaveLength(calls);
});

it('a budget for a model whose price is not known ends the run before a call', async () => {
  await start({ max_budget_per_task: 1 }, { input_cost_per_token: 0.01 });
  const error = (await eventsAt('error')).at(-1);
  expect(error).toMatchObject({ code: 'MaxBudgetUnknown' });
  expect(error?.['detail']).toMatch(/output_cost_per_token, or unset max_budget_per_task/);
  expect(endpoint.asked).toEqual([]);
});

it('terminal and editor share a working directory that is relative, and is made with a repository', async () => {
  const create = { command: 'create', path: 'a.txt', file_text: 'a' };
  endpoint.reply(call(['file_editor', create], run('cat a.txt; git status --short')), call(FINISH));
  await start({ workspace: { working_dir: 'deep/project' } });
  await eventsAt();
  expect(endpoint.newest('tool')?.content).toMatch(/^a\?\? a\.txt/);
  expect(read('deep/project/a.txt')).toBe('a');
});

it('a run without a message ends in error before a call', async () => {
  await start({ initial_message: null });
  await post('run');
  expect((await eventsAt('error')).at(-1)).toMatchObject({ code: 'NoMessage' });
  expect(endpoint.asked).toEqual([]);
});

it('an agent profile that does not exist is refused', async () => {
  const refused = { agent: null, agent_profile_id: 'x', workspace: { working_dir: 'refused' } };
  expect((await worker.startConversation(null, refused)).status).toBe(404);
  expect(existsSync(path.join(worker.place.workspace, 'refused'))).toBe(false);
});

it('images of a message reach the endpoint', async () => {
  endpoint.reply(call(FINISH));
  const image = 'data:image/png;base64,iVBORw0KGgo=';
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', image_urls: [image, 'https://images.example/a.png'] },
  ];
  await start({ initial_message: { role: 'user', content, run: true } });
  await eventsAt();
  const sent = endpoint.newest('user')?.content as { type: string; image_url?: { url: string } }[];
  expect(sent.flatMap((part) => part.image_url?.url ?? [])).toEqual([
    image,
    'https://images.example/a.png',
  ]);
});

it('secrets are variables of commands, in no output and no shown event; what the model writes goes back as written', async () => {
  const TOKEN = 'very-secret-value';
  endpoint.reply(
    call(run('printf %s "$TOKEN" > t.txt; cat t.txt')),
    call(
      ['think', { thought: `It is ${TOKEN}.` }],
      ['browser', `{"${TOKEN}`],
      ['file_editor', { command: 'create', path: `${TOKEN}.txt`, file_text: TOKEN }],
    ),
    say(`The token is ${TOKEN}.`, { reasoning_content: TOKEN }),
  );
  await start({
    secrets: { TOKEN },
    agent: { ...endpoint.agent(), agent_context: { secrets: { OTHER: 'value' } } },
  });
  const events = await eventsAt();
  expect(read('t.txt')).toBe(TOKEN);
  expect(endpoint.asked[0]?.messages[0]?.content).toMatch(
    /Variables of the terminal that hold secrets: OTHER, TOKEN\.$/,
  );
  expect(read(`${TOKEN}.txt`)).toBe(TOKEN);
  expect(JSON.stringify(events)).not.toContain(TOKEN);
  const [, second, third] = endpoint.asked.map(({ messages }) => messages);
  expect(JSON.stringify(second)).toContain('<secret-hidden>');
  expect(JSON.stringify(second)).not.toContain(TOKEN);
  const written = third?.flatMap(({ tool_calls: calls = [] }) =>
    calls.map((each) => each.function.arguments),
  );
  expect(written).toContain(
    JSON.stringify({ command: 'create', path: `${TOKEN}.txt`, file_text: TOKEN }),
  );
});

describe('the text of an answer while it arrives', () => {
  const passing = (frames: Record<string, unknown>[]) =>
    frames.filter(({ kind }) => kind === 'StreamingDeltaEvent');

  it.each([
    [true, '', true],
    [undefined, '?deltas=true', true],
    [undefined, '', false],
    [false, '?deltas=true', false],
  ])(
    'with stream %s goes to a socket with the query %j: %s; and is not stored',
    async (stream, query, isSent) => {
      endpoint.reply(say('A text in several pieces, very-secret-value, and v'));
      await start({ initial_message: null, secrets: { TOKEN: 'very-secret-value' } }, { stream });
      const socket = worker.socket(`/sockets/events/${ID}${query}`, {
        'X-Session-API-Key': 'test-session-key',
      });
      await until('the state', () => socket.frames.length > 0);
      await post('events', message('Hello.'));
      const stored = await eventsAt();
      await until('the answer', () =>
        socket.frames.some(({ kind, source }) => kind === 'MessageEvent' && source === 'agent'),
      );
      const text = passing(socket.frames).map(({ content }) => content);
      expect(text[0]).toBe(isSent ? '' : undefined);
      expect(text.join('')).toBe(isSent ? 'A text in several pieces, <secret-hidden>, and v' : '');
      expect(passing(stored)).toEqual([]);
      socket.client.terminate();
    },
  );
});

describe('condensation', () => {
  it('continues with a summary after the endpoint answers that the history is too long', async () => {
    endpoint.reply(
      call(run('echo 1')),
      call(run('echo 2')),
      fail(400, "This model's maximum context length is 8192 tokens"),
      say('Echoed 1.'),
      call(FINISH),
    );
    await start();
    const events = await eventsAt();
    const [first] = ofKind(events, 'ActionEvent');
    const [result] = ofKind(events, 'ObservationEvent');
    expect(ofKind(events, 'Condensation')).toMatchObject([
      {
        source: 'environment',
        forgotten_event_ids: [first?.id, result?.id],
        summary: 'Echoed 1.',
        summary_offset: 1,
      },
    ]);
    const sent = endpoint.asked.at(-1)?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'assistant', 'tool']);
    expect(JSON.stringify(sent[2])).toContain('Echoed 1.');
  });

  it('is done before the history is longer than llm.max_input_tokens', async () => {
    const long = call(run('seq 1 500'));
    endpoint.reply(long, long, say('Counted.'), call(FINISH));
    await start({}, { max_input_tokens: 1000 });
    expect(ofKind(await eventsAt(), 'Condensation')).toMatchObject([{ summary: 'Counted.' }]);
  });

  it('ends in error when nothing is left to condense', async () => {
    endpoint.reply(
      fail(400, 'prompt is too long'),
      say('Shorter.'),
      fail(400, 'prompt is too long'),
    );
    await start();
    await worker.untilStatus('error');
    expect((await worker.events()).at(-1)).toMatchObject({ code: 'LLMContextWindowExceedError' });
  });

  it('is done at once on request when the conversation is idle', async () => {
    endpoint.reply(call(run('echo 1')), call(run('echo 2')), call(FINISH));
    await start();
    await worker.untilStatus('finished');
    endpoint.reply(say('A summary.'));
    const { status, body } = await post('condense');
    expect([status, body]).toEqual([200, { success: true }]);
    const events = await worker.events();
    expect(ofKind(events, 'CondensationRequest')).toHaveLength(1);
    expect(ofKind(events, 'Condensation')).toMatchObject([{ summary: 'A summary.' }]);
    expect(await worker.status()).toBe('finished');
  });

  it('is done by the next step on request during a run', async () => {
    let answer = (): void => undefined;
    endpoint.reply(
      call(run('echo 1')),
      (response) => (answer = () => call(run('echo 2'))(response)),
      say('A summary.'),
      call(FINISH),
    );
    await start();
    await until('the second call', () => endpoint.asked.length === 2);
    expect((await post('condense')).status).toBe(200);
    answer();
    const events = await eventsAt();
    expect(
      events.map(({ kind }) => kind).filter((kind) => kind.startsWith('Condensation')),
    ).toEqual(['CondensationRequest', 'Condensation']);
  });

  it('that fails on request is answered with the reason', async () => {
    endpoint.reply(call(run('echo 1')), call(FINISH));
    await start();
    await worker.untilStatus('finished');
    endpoint.reply(fail(401, 'Wrong key'));
    const { status, body } = await post('condense');
    expect([status, JSON.stringify(body)]).toEqual([502, expect.stringContaining('Wrong key')]);
    expect(await worker.status()).toBe('finished');
  });
});

describe('questions beside the history', () => {
  it('ask_agent is answered by the model and stores nothing', async () => {
    endpoint.reply(call(run('echo 1')), call(FINISH));
    await start();
    const before = await eventsAt();
    endpoint.reply(say('You did echo 1.'));
    const { status, body } = await post('ask_agent', { question: 'What was done?' });
    expect([status, body]).toEqual([200, { response: 'You did echo 1.' }]);
    expect(JSON.stringify(endpoint.newest('user'))).toContain('What was done?');
    expect(await worker.events()).toEqual(before);
    endpoint.reply(fail(500, 'Overloaded'));
    expect((await post('ask_agent', { question: 'Again?' })).status).toBe(502);
  });

  it('are answered without secrets, also when the endpoint or the model repeats them', async () => {
    const [KEY, TOKEN] = ['sk-key-of-the-model', 'very-secret-value'];
    endpoint.reply(call(FINISH));
    await start({ secrets: { TOKEN } }, { api_key: KEY });
    await worker.untilStatus('finished');
    endpoint.reply(fail(401, `Incorrect API key provided: ${KEY}`), say(`It is ${TOKEN}.`));
    const ask = async (): Promise<unknown> =>
      (await post('ask_agent', { question: 'Which?' })).body;
    expect(await ask()).toMatchObject({
      detail: expect.stringContaining('provided: <secret-hidden>') as string,
    });
    expect(await ask()).toEqual({ response: 'It is <secret-hidden>.' });
    expect((await post('generate_title', {})).body).toEqual({ title: 'It is <secret-hidden>.' });
  });

  it('generate_title is answered by the model, else with the title', async () => {
    endpoint.reply(call(FINISH));
    await start();
    await worker.untilStatus('finished');
    endpoint.reply(say('"Echo a number"\n'));
    expect((await post('generate_title', { max_length: 50 })).body).toEqual({
      title: 'Echo a number',
    });
    endpoint.reply(fail(500, 'Overloaded'));
    expect((await post('generate_title', {})).body).toEqual({ title: 'Please do it.' });
  });

  it('switch_llm is used by the next call', async () => {
    endpoint.reply(call(FINISH));
    await start();
    await worker.untilStatus('finished');
    const llm = { model: 'other', base_url: null, api_key: null, temperature: null };
    expect((await post('switch_llm', { llm })).status).toBe(200);
    await post('events', message('Again.'));
    await until('the call', () => endpoint.asked.length === 2);
    expect(endpoint.asked.map(({ model }) => model)).toEqual(['m', 'other']);
  });
});
