/**
 * Texts on their way: from users, commands and models into the log, to the model, into files and to
 * clients.
 */
import { expect, it } from 'vitest';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import {
  ID,
  message,
  type OwnWorker,
  outputs,
  readIfThere,
  until,
} from '../../agent-server/support/worker.ts';
import { call, FINISH, run, say, useEndpoint } from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint();

const PATH = `/api/conversations/${ID}`;

async function converse(text: string, more: object = {}, llm: object = {}) {
  await worker.startConversation(null, {
    agent: endpoint.agent(llm),
    initial_message: message(text),
    ...more,
  });
  await worker.untilStatus('finished');
  return worker.events();
}

it.each(['test', 'ollama', 'none', 'EMPTY', 'x', 'lm-studio', 'not-needed', '1', '127.0.0.1'])(
  'the key %s, a word like any other, changes no message, argument, file, output, answer or title',
  async (word) => {
    const task = `run the ${word}s 1-by-1`;
    const code = `def ${word}_add(): 10\n`;
    const answer = `The latest ${word} and py${word} pass 11 of 11.`;
    const create = { command: 'create', path: 'a.py', file_text: code };
    endpoint.reply(call(['file_editor', create], run(`cat a.py # ${word}`)), say(answer));
    const events = await converse(task, { secrets: { PORT: '1', WORD: word } }, { api_key: word });
    expect(endpoint.asked[0]?.messages.at(-1)?.content).toBe(task);
    expect(readIfThere(worker, 'a.py')).toBe(code);
    expect(endpoint.newest('tool')?.content).toContain(code.trim());
    expect(outputs(events)).toEqual([code.trim()]);
    expect((await worker.call('GET', `${PATH}/agent_final_response`)).body).toEqual({
      response: answer,
    });
    expect((await worker.call('GET', PATH)).body).toMatchObject({ title: task });
  },
);

it('a secret that the user and the model write goes to the model as written, and is masked for readers', async () => {
  const [TOKEN, KEY] = ['t0k3n-of-the-test', 'sk-k3y-of-the-test'];
  const [task, answer] = [`use ${TOKEN}`, `used ${TOKEN}, not ${KEY}`];
  const create = { command: 'create', path: 'a.txt', file_text: TOKEN };
  endpoint.reply(
    call(['file_editor', create], run(`cat a.txt; echo ${TOKEN} ${KEY}`)),
    say(answer),
    say('Yes.'),
  );
  const events = await converse(task, { secrets: { TOKEN } }, { api_key: KEY });
  await worker.call('POST', `${PATH}/events`, message('really?'));
  await until('the second answer', () => endpoint.asked.length === 3);
  await worker.untilStatus('finished');
  const sent = endpoint.asked.at(-1)?.messages ?? [];
  expect(
    sent.filter(({ role, content }) => role !== 'tool' && content).map(({ content }) => content),
  ).toEqual(expect.arrayContaining([task, answer]));
  expect(
    sent.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.function.arguments)),
  ).toContain(JSON.stringify(create));
  expect(JSON.stringify(sent.filter(({ role }) => role === 'tool'))).not.toMatch(/t0k3n|k3y/);
  expect(readIfThere(worker, 'a.txt')).toBe(TOKEN);
  expect(outputs(events)[0]).toBe('<secret-hidden><secret-hidden> <secret-hidden>');
  // An event that was stored before its secret was set is masked, too.
  await worker.call('POST', `${PATH}/secrets`, { secrets: { LATER: 'really?-yes' } });
  const all = [
    await worker.events(),
    (await worker.call('GET', PATH)).body,
    (await worker.call('GET', `${PATH}/agent_final_response`)).body,
    (
      await worker.call(
        'GET',
        `${PATH}/events/${events.find(({ kind }) => kind === 'MessageEvent')?.id}`,
      )
    ).body,
  ];
  expect(JSON.stringify(all)).not.toMatch(/t0k3n|k3y/);
  expect(JSON.stringify(all)).toContain('use <secret-hidden>');
});

it('a secret and a key of the model are masked for readers also after they were replaced', async () => {
  const [TOKEN, KEY] = ['t0k3n-of-the-test', 'sk-k3y-of-the-test'];
  endpoint.reply(say('Done.'), say('Yes.'));
  await converse(`use ${TOKEN} and ${KEY}`, { secrets: { TOKEN } }, { api_key: KEY });
  await worker.call('POST', `${PATH}/secrets`, { secrets: { TOKEN: 'n3w-t0ken-of-the-test' } });
  await worker.call('POST', `${PATH}/switch_llm`, {
    llm: { model: 'openai/m', api_key: 'sk-n3w-of-the-test' },
  });
  expect(JSON.stringify(await worker.events())).toContain(
    'use <secret-hidden> and <secret-hidden>',
  );
});

const EMOJI = '\u{1f600}';

/** The texts in a document that strict readers of JSON refuse. */
function refused(value: unknown): string[] {
  if (typeof value === 'string')
    return /[\0\p{Cs}]/u.test(value) ? [JSON.stringify(value).slice(0, 200)] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [...refused(name), ...refused(member)]);
}

it.each([0, 1, 2, 3])(
  'no half of a pair comes from a long text that is cut, with %i characters before',
  async (before) => {
    const shift = 'x'.repeat(before);
    const long = `${shift}${EMOJI.repeat(20_000)}`;
    const command = `printf '${shift}'; cat e; printf '${shift}'`;
    endpoint.reply(
      call(
        ['file_editor', { command: 'create', path: 'e', file_text: EMOJI.repeat(20_000) }],
        run(command),
      ),
      call(
        ['file_editor', { command: 'create', path: 'l', file_text: long }],
        ['file_editor', { command: 'view', path: 'l' }],
      ),
      say(long),
    );
    const title = `${'t'.repeat(56 + before)}${EMOJI.repeat(5)}`;
    const events = await converse(title);
    expect(JSON.stringify(events)).toContain('characters of output left out');
    const view = (await worker.call('GET', PATH)).body;
    expect(view).toMatchObject({ title: expect.stringMatching(/^t{56}.*…$/u) as string });
    expect(refused([events, endpoint.asked, view])).toEqual([]);
  },
);

it('what users, clients, commands, models and repositories write that is not text becomes U+FFFD', async () => {
  const half = `a\ud83d\0b`;
  const cases = `{"command":"create","path":"n.txt","file_text":"a\\ud83d\\u0000b"}`;
  endpoint.reply(
    call(['file_editor', cases], run(`printf 'a\\0b\\355\\240\\275c'`), [
      'browser',
      { [half]: half },
    ]),
    call(['think', { thought: half }]),
    say(half, { reasoning_content: half }),
  );
  await worker.startConversation(null, {
    agent: endpoint.agent({ stream: true }),
    initial_message: null,
    tags: { note: half },
  });
  const socket = worker.socket(`/sockets/events/${ID}`, {
    'X-Session-API-Key': 'test-session-key',
  });
  await until('the state', () => socket.frames.length > 0);
  await worker.call('POST', `${PATH}/events`, message(`Hello ${half}`));
  await worker.untilStatus('finished');
  await worker.call('PATCH', PATH, { title: half });
  socket.client.send(JSON.stringify(message(`Again ${half}${EMOJI}`)));
  await until('the second answer', () => endpoint.asked.length === 4);
  await worker.untilStatus('finished');
  const events = await worker.events();
  const view = (await worker.call('GET', PATH)).body;
  expect(view).toMatchObject({ title: 'a\ufffd\ufffdb' });
  expect(JSON.stringify(endpoint.asked)).toContain(`Again a\ufffd\ufffdb${EMOJI}`);
  expect(refused([events, endpoint.asked, view, socket.frames])).toEqual([]);
  const written = endpoint.asked.flatMap(({ messages }) =>
    messages.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.function.arguments)),
  );
  expect(refused(written.map((each) => JSON.parse(each) as unknown))).toEqual([]);
  // An argument is carried out as written: UTF-8 has no half of a pair, and a file may have U+0000.
  expect(readIfThere(worker, 'n.txt')).toBe('a\ufffd\0b');
  socket.client.terminate();
});

it('an answer in pieces arrives in whole characters', async () => {
  endpoint.reply(call(FINISH));
  await converse('Hello');
  endpoint.reply(say(`1${EMOJI.repeat(50)}`));
  await worker.call('POST', `${PATH}/switch_llm`, {
    llm: { model: 'openai/gpt-4o', base_url: endpoint.url, stream: true },
  });
  const socket = worker.socket(`/sockets/events/${ID}`, {
    'X-Session-API-Key': 'test-session-key',
  });
  await until('the state', () => socket.frames.length > 0);
  await worker.call('POST', `${PATH}/events`, message('Again'));
  const pieces = () =>
    socket.frames
      .filter(({ kind }) => kind === 'StreamingDeltaEvent')
      .map(({ content }) => content);
  await until('the answer', () => pieces().join('').length === 101);
  expect(pieces().length).toBeGreaterThan(5);
  expect(refused(pieces())).toEqual([]);
  expect(pieces().join('')).toBe(`1${EMOJI.repeat(50)}`);
  socket.client.terminate();
});
