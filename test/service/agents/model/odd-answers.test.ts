/** What a run does after one answer that is not a plain call of an offered tool. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import type { OwnWorker } from '../../agent-server/support/worker.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import {
  call,
  delta,
  FINISH,
  ofKind,
  plain,
  type Reply,
  say,
  send,
  useEndpoint,
} from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint();

/** The chunks of an answer, and its end. */
function chunks(deltas: object[], reason = 'tool_calls', more: object = {}): Reply {
  return (response: ServerResponse) => {
    for (const each of deltas) send(response, { ...delta(each), ...more });
    send(response, { ...delta({}, reason), ...more }, '[DONE]');
    response.end();
  };
}

const named = (name: string, input: unknown, more: object = {}) => ({
  id: 'a',
  type: 'function',
  function: { name, arguments: input },
  ...more,
});
const whole = (message: object) =>
  JSON.stringify({ id: 'a', choices: [{ index: 0, message, finish_reason: 'stop' }] });
const OK = { command: 'echo OK' };
const TEXT = JSON.stringify(OK);
const CALL = `{"name": "terminal", "arguments": ${TEXT}}`;

/** The calls that were made, an error for the model, or a request to it; then `finish`. */
const TABLE: [what: string, reply: Reply, done: string[]][] = [
  ['<tool_call> with JSON', say(`<tool_call>\n${CALL}\n</tool_call>`), ['terminal echo OK']],
  [
    '<tool_call> after a text',
    say(`I run it.\n<tool_call>${CALL}</tool_call>`),
    ['terminal echo OK'],
  ],
  ['<tool_call> without an end', say(`<tool_call>${CALL}`), ['terminal echo OK']],
  [
    'two <tool_call>',
    say(`<tool_call>${CALL}</tool_call>\n<tool_call>${CALL}</tool_call>`),
    ['terminal echo OK', 'terminal echo OK'],
  ],
  [
    '<tool_call> with parameters',
    say(`<tool_call>{"name": "terminal", "parameters": ${TEXT}}</tool_call>`),
    ['terminal echo OK'],
  ],
  [
    '<tool_call> with the tool of another agent',
    say(`<tool_call>{"name": "bash", "arguments": ${TEXT}}</tool_call>`),
    ['terminal echo OK'],
  ],
  [
    '<function=> with parameters',
    say('<function=terminal>\n<parameter=command>\necho OK\n</parameter>\n</function>'),
    ['terminal echo OK'],
  ],
  [
    '<function=> in <tool_call>',
    say(
      '<tool_call>\n<function=execute_bash>\n<parameter=command>echo OK</parameter>\n</function>\n</tool_call>',
    ),
    ['terminal echo OK'],
  ],
  ['fenced JSON', say(`I run it.\n\`\`\`json\n${CALL}\n\`\`\``), ['terminal echo OK']],
  [
    '<tool_call> of an unknown tool',
    say('<tool_call>{"name": "browse", "arguments": {}}</tool_call>'),
    ['request'],
  ],
  ['<tool_call> that is not JSON', say('<tool_call>echo OK</tool_call>'), ['request']],
  [
    '<tool_call> that is quoted within a text',
    say(`Write <tool_call>${CALL}</tool_call> to call it.`),
    ['request'],
  ],
  [
    '<function=> that is quoted without its end',
    say('Write <function=terminal><parameter=command>echo OK</parameter> to call it.'),
    ['request'],
  ],
  [
    'spaces in a <tool_call>',
    chunks([{ content: `<tool_call>x${' '.repeat(300_000)}y` }], 'stop'),
    ['request'],
  ],
  [
    'parameters without an end',
    chunks([{ content: `<function=terminal>${'<parameter=a>'.repeat(50_000)}` }], 'stop'),
    ['request'],
  ],
  ['fenced JSON within a text', say(`\`\`\`json\n${CALL}\n\`\`\`\nis the call.`), ['message']],
  [
    'fenced JSON that is no call',
    say('```json\n{"name": "acs", "version": "1"}\n```'),
    ['message'],
  ],
  ['a promise', say('Let me first look at the repository.'), ['request']],
  ['a promise after a report', say('The tests fail.\n\nNow I will fix them.'), ['request']],
  ['a promise with a colon', say('Now let me run the tests:'), ['request']],
  ['a question', say('Let me ask first: which file?'), ['message']],
  ['an offer', say('It is done. Let me know what else you need.'), ['message']],
  ['an answer', say('The repository has two files.'), ['message']],
  ['an answer that has a promise within', say("I'll explain. It has two files."), ['message']],
  ['reasoning alone', chunks([{ reasoning_content: 'Hm.' }], 'stop'), ['request']],
  ['reasoning in the text alone', say('<think>Hm.</think>'), ['request']],
  ['reasoning in the text', say('<think>Hm. Let me run it</think>It has two files.'), ['message']],
  ['nothing', say(''), ['request']],
  ['a text that is cut off', chunks([{ content: 'The rep' }], 'length'), ['request']],
  ['reasoning that is cut off', chunks([{ reasoning_content: 'Hm' }], 'length'), ['request']],
  [
    'a call that is cut off',
    chunks([{ tool_calls: [named('terminal', '{"command": "rm -rf', { index: 0 })] }], 'length'),
    ['request'],
  ],
  [
    'a call that is cut off after a quote',
    chunks([{ tool_calls: [named('terminal', '{"command": "ls \\"', { index: 0 })] }], 'length'),
    ['request'],
  ],
  [
    'long arguments with quotes',
    chunks([{ tool_calls: [named('terminal', `{"a":"${'b" '.repeat(99_000)}"}`, { index: 0 })] }]),
    ['error'],
  ],
  ['line feeds in JSON', call(['terminal', '{"command": "echo OK\n"}']), ['terminal echo OK\n']],
  ['JSON in JSON', call(['terminal', JSON.stringify(TEXT)]), ['terminal echo OK']],
  ['a fence in arguments', call(['terminal', `\`\`\`json\n${TEXT}\n\`\`\``]), ['terminal echo OK']],
  ['a trailing comma', call(['terminal', '{"command": "echo OK",}']), ['terminal echo OK']],
  ['single quotes', call(['terminal', "{'command': 'echo OK'}"]), ['terminal echo OK']],
  ['half a command', call(['terminal', '{"command": "rm -rf /tmp/a']), ['error']],
  ['a list of words', call(['terminal', { command: ['echo', 'O K'] }]), ["terminal 'echo' 'O K'"]],
  [
    'a script of bash',
    call(['terminal', { command: ['bash', '-lc', 'echo OK'] }]),
    ['terminal echo OK'],
  ],
  [
    'an empty view_range',
    call(['file_editor', { command: 'view', path: '.', view_range: [] }]),
    ['file_editor view'],
  ],
  ['numbers as text', call(['terminal', { ...OK, timeout: '5' }]), ['terminal echo OK']],
  ['null', call(['terminal', { ...OK, timeout: null }]), ['terminal echo OK']],
  [
    'arguments of another agent',
    call(['str_replace_editor', { command: 'create', file_path: 'a', content: 'b' }]),
    ['file_editor create'],
  ],
  ['the argument cmd', call(['shell', { cmd: 'echo OK' }]), ['terminal echo OK']],
  ...[
    'bash',
    'execute_bash',
    'Terminal',
    'TerminalTool',
    'functions.terminal',
    'terminal<|channel|>commentary',
  ].map((name): [string, Reply, string[]] => [
    `the tool ${name}`,
    call([name, OK]),
    ['terminal echo OK'],
  ]),
  ['the tool browse', call(['browse', OK]), ['error']],
  ['no arguments of finish', call(['finish', '']), ['finish']],
  ['a summary for finish', call(['finish', { summary: 'Done.' }]), ['finish']],
  [
    'arguments that are an object',
    chunks([{ tool_calls: [named('terminal', OK, { index: 0 })] }]),
    ['terminal echo OK'],
  ],
  [
    'an id that is a number',
    chunks([{ tool_calls: [named('terminal', TEXT, { index: 0, id: 7 })] }], 'tool_calls', {
      id: 8,
    }),
    ['terminal echo OK'],
  ],
  [
    'no index',
    chunks([
      { tool_calls: [named('terminal', TEXT)] },
      { tool_calls: [named('terminal', TEXT, { id: 'b' })] },
    ]),
    ['terminal echo OK', 'terminal echo OK'],
  ],
  [
    'the index 0 for each call',
    chunks([
      { tool_calls: [named('terminal', TEXT, { index: 0 })] },
      { tool_calls: [named('terminal', TEXT, { index: 0, id: 'b' })] },
    ]),
    ['terminal echo OK', 'terminal echo OK'],
  ],
  [
    'negative counts',
    chunks([{ tool_calls: [named('terminal', TEXT, { index: 0 })] }], 'tool_calls', {
      usage: { prompt_tokens: -5, completion_tokens: -1 },
    }),
    ['terminal echo OK'],
  ],
  [
    'a whole answer',
    plain('application/json', whole({ content: 'It has two files.' })),
    ['message'],
  ],
  [
    'a whole answer with a call',
    plain('application/json', whole({ content: null, tool_calls: [named('terminal', TEXT)] })),
    ['terminal echo OK'],
  ],
  [
    'a stream that is named text/plain',
    plain(
      'text/plain',
      `data: ${JSON.stringify(delta({ content: 'Two files.' }))}\n\ndata: ${JSON.stringify(delta({}, 'stop'))}\n\ndata: [DONE]\n\n`,
    ),
    ['message'],
  ],
];

function doneIn(events: StoredEvent[]): string[] {
  return events.flatMap((event): string[] => {
    const {
      kind,
      source,
      action,
      tool_name: name,
    } = event as StoredEvent & {
      action?: { command?: string };
    };
    if (kind === 'MessageEvent' && source === 'environment') return ['request'];
    if (kind === 'MessageEvent' && source === 'agent') return ['message'];
    if (kind === 'AgentErrorEvent') return ['error'];
    if (kind !== 'ActionEvent' || action === undefined) return [];
    return [[name, action.command].filter(Boolean).join(' ')];
  });
}

it.each(TABLE)('after %s the run goes on', async (_what, reply, done) => {
  endpoint.reply(reply, call(FINISH));
  await worker.startConversation(null, { agent: endpoint.agent() });
  await worker.untilStatus('finished');
  const events = await worker.events();
  const last = ['finish', 'message'].includes(done.at(-1) ?? '') ? [] : ['finish'];
  const own = doneIn(events).filter(
    (each, at, all) => !(each === 'message' && all[at + 1] === 'request'),
  );
  expect(own).toEqual([...done, ...last]);
});

it('a request to the model follows its text, and is no message of the user', async () => {
  endpoint.reply(say('Let me look.'), say(''), call(FINISH));
  await worker.startConversation(null, { agent: endpoint.agent() });
  await worker.untilStatus('finished');
  const sent = endpoint.asked.at(-1)?.messages.slice(-4) ?? [];
  expect(sent.map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant', 'user']);
  expect(sent.map(({ content }) => content)).toEqual([
    'Let me look.',
    expect.stringContaining('names a next step'),
    '(no answer)',
    expect.stringContaining('was empty'),
  ]);
  expect(ofKind(await worker.events(), 'MessageEvent').map(({ source }) => source)).toEqual([
    'user',
    'agent',
    'environment',
    'environment',
  ]);
});
