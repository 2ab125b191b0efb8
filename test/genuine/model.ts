/**
 * A scripted model behind an OpenAI-compatible interface. The last of these words found in a user
 * message chooses what it does; without one it is WORK. Requests without tools (titles) are always
 * answered.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MATRIX_CHANGES } from '../support/patch-matrix.ts';

export const SCENARIOS = [
  // calls with the inputs in the message, a JSON array: with a path of the editor, else of the
  // terminal
  'COMMANDS',
  'QUICK', // finish at once
  'PLAIN', // answer in text, call no tool
  'WORK', // look around, write hello.txt (in the repository's folder where there is one), finish
  'MATRIX', // one change of each kind that a patch can hold (in the repository's folder where there is one), finish
  'REPAIR', // run check.sh, correct sum.sh, run check.sh again, finish
  // the tools of the lines behind the word, each a name and its arguments in JSON, then finish
  'CALL',
  'SLOW', // a command that ends when it is released (heldCommand), then finish
  'RISKY', // a command marked as high risk, which leaves `risky.txt`
  'LOOP', // the same harmless command for ever
  'COUNT', // another command for ever
  'FAIL401',
  'FAIL429',
  'FAIL500',
  'CUT', // the connection ends without an answer
  'SILENT', // no answer until it is released, then finish
] as const;

export type ScenarioWord = (typeof SCENARIOS)[number];

const COMMANDS: Partial<Record<ScenarioWord, readonly string[]>> = {
  WORK: [
    'ls -la',
    'cd hello 2>/dev/null; echo hello from the agent > hello.txt; cd - >/dev/null 2>&1; true',
  ],
  MATRIX: [`cd hello 2>/dev/null; ${MATRIX_CHANGES}`],
  REPAIR: ['sh check.sh', `echo 'echo $(($1 + $2))' > sum.sh`, 'sh check.sh'],
  RISKY: ['echo carried out > risky.txt'],
};

const ERRORS: Partial<Record<ScenarioWord, readonly [number, string, string]>> = {
  FAIL401: [401, 'Incorrect API key provided', 'invalid_api_key'],
  FAIL429: [429, 'Rate limit reached for requests', 'rate_limit_exceeded'],
  FAIL500: [500, 'The server had an error while processing your request', 'server_error'],
};

interface ModelMessage {
  role: string;
  content?: string | { text?: string }[] | null;
}

export interface OfferedTool {
  function: {
    name: string;
    description?: string;
    parameters?: { properties?: object; required?: string[] };
  };
}

interface ModelRequest {
  model?: string;
  messages?: ModelMessage[];
  tools?: OfferedTool[];
  stream?: boolean;
}

interface Answer {
  role: 'assistant';
  content: string | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
}

const LONGEST_HOLD_S = 20;

/**
 * A command that ends when the file is there, and after 20 s without it: some servers stop a run
 * only between steps.
 */
export function heldCommand(released: string): string {
  return (
    `for i in $(seq ${LONGEST_HOLD_S * 10}); do [ -e '${released}' ] && break; sleep 0.1; ` +
    'done; date'
  );
}

export interface ScriptedModel {
  /** Base URL for the settings of a server. */
  url: string;
  /** Those of the newest request that had any. */
  readonly offered: readonly OfferedTool[];
  /** Sends the answers that it has withheld. */
  release(): void;
  close(): Promise<void>;
}

/**
 * Listens on a free port of the loopback. @param released the file that releases the command of
 * SLOW
 */
export async function startModel(released: string): Promise<ScriptedModel> {
  let calls = 0;
  let offered: OfferedTool[] = [];
  const withheld: (() => void)[] = [];
  const server = createServer((request, response) => {
    let raw = '';
    request.on('data', (chunk: Buffer) => (raw += chunk.toString()));
    request.on('end', () => {
      if (!request.url?.endsWith('/chat/completions')) {
        return sendJson(response, 200, {
          object: 'list',
          data: [{ id: 'gpt-4o', object: 'model' }],
        });
      }
      calls += 1;
      const body = JSON.parse(raw === '' ? '{}' : raw) as ModelRequest;
      offered = body.tools ?? offered;
      complete(body, { call: calls, response, withheld, released });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get offered() {
      return offered;
    },
    release() {
      for (const answerNow of withheld.splice(0)) answerNow();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Call {
  /** Which one it is, from 1. */
  call: number;
  response: ServerResponse;
  /** Gets what sends an answer that waits for its release. */
  withheld: (() => void)[];
  released: string;
}

function complete(body: ModelRequest, { call, response, withheld, released }: Call): void {
  const { scenario, step, text } = readScenario(body.messages ?? []);
  const tools = (body.tools ?? []).map((tool) => tool.function.name);
  const error = ERRORS[scenario];
  if (error && tools.length > 0) {
    const [status, message, code] = error;
    return sendJson(response, status, { error: { message, type: code, param: null, code } });
  }
  if (scenario === 'CUT' && tools.length > 0) return void response.destroy();
  const send = (): void =>
    respond(body, call, response, answer({ scenario, step, text, tools, call, released }));
  if (scenario === 'SILENT' && tools.length > 0) withheld.push(send);
  else send();
}

function respond(
  body: ModelRequest,
  call: number,
  response: ServerResponse,
  message: Answer,
): void {
  const head = { id: `chat-${call}`, created: Math.floor(Date.now() / 1000), model: body.model };
  const finish_reason = message.tool_calls ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  if (body.stream !== true) {
    return sendJson(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason }],
      usage,
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (choices: unknown[], more: object = {}): void => {
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`,
    );
  };
  for (const delta of deltas(message)) send([{ index: 0, delta, finish_reason: null }]);
  send([{ index: 0, delta: {}, finish_reason }]);
  send([], { usage });
  response.end('data: [DONE]\n\n');
}

/**
 * What the latest message that names a scenario chose, and how many of its steps were taken since.
 */
function readScenario(messages: ModelMessage[]): Pick<Question, 'scenario' | 'step' | 'text'> {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const chosenAt = messages.findLastIndex(
    (message) => message.role === 'user' && wordIn(textOf(message)) !== undefined,
  );
  const at = chosenAt === -1 ? last : chosenAt;
  const text = messages[at] === undefined ? '' : textOf(messages[at]);
  const scenario = wordIn(text) ?? 'WORK';
  const from = scenario === 'WORK' ? last : at;
  return {
    scenario,
    text,
    step: messages.slice(from + 1).filter(({ role }) => role === 'tool').length,
  };
}

function textOf({ content }: ModelMessage): string {
  return typeof content === 'string'
    ? content
    : (content ?? []).map((part) => part.text ?? '').join(' ');
}

function wordIn(text: string): ScenarioWord | undefined {
  return SCENARIOS.find((name) => new RegExp(`\\b${name}\\b`).test(text));
}

interface Question {
  scenario: ScenarioWord;
  /** How many steps of the scenario have been taken. */
  step: number;
  /** Of the message that names the scenario. */
  text: string;
  tools: string[];
  call: number;
  released: string;
}

function answer({ scenario, step, text, tools, call, released }: Question): Answer {
  if (tools.length === 0) return { role: 'assistant', content: 'A short title' };
  if (scenario === 'PLAIN')
    return { role: 'assistant', content: 'A plain answer, no tool was needed.' };
  const [, tool, args] =
    (scenario === 'CALL' && /^(\S+)(?: (.+))?$/.exec(text.split('\n')[step + 1] ?? '')) || [];
  if (tool !== undefined) return toolCall(call, tool, JSON.parse(args ?? '{}') as object, null);
  const terminal = tools.find((name) => ['terminal', 'execute_bash'].includes(name));
  if (scenario === 'COMMANDS' && terminal !== undefined) {
    const given = (JSON.parse(text.slice(text.indexOf('['))) as object[])[step];
    if (given !== undefined)
      return toolCall(call, 'path' in given ? 'file_editor' : terminal, given, null);
  }
  const command = commandOf(scenario, step, released);
  if (terminal !== undefined && command !== undefined) {
    const words = scenario === 'LOOP' ? 'Again.' : `Step ${step + 1}.`;
    return toolCall(
      call,
      terminal,
      { command, security_risk: scenario === 'RISKY' ? 'HIGH' : 'LOW' },
      words,
    );
  }
  return toolCall(
    call,
    'finish',
    { message: scenario === 'QUICK' ? 'Done at once.' : 'All done.' },
    null,
  );
}

function commandOf(scenario: ScenarioWord, step: number, released: string): string | undefined {
  if (scenario === 'LOOP') return 'echo the same again';
  if (scenario === 'COUNT') return `sleep 0.2; echo round ${step + 1}`;
  if (scenario === 'SLOW') return step === 0 ? heldCommand(released) : undefined;
  return COMMANDS[scenario]?.[step];
}

function toolCall(call: number, name: string, args: object, content: string | null): Answer {
  const id = `call_${call}`;
  return {
    role: 'assistant',
    content,
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
  };
}

function* deltas(message: Answer): Generator<object> {
  yield { role: 'assistant', content: '' };
  for (const content of message.content?.match(/.{1,8}/gs) ?? []) yield { content };
  for (const [index, tool] of (message.tool_calls ?? []).entries()) {
    yield {
      tool_calls: [
        {
          index,
          id: tool.id,
          type: 'function',
          function: { name: tool.function.name, arguments: '' },
        },
      ],
    };
    for (const part of tool.function.arguments.match(/.{1,16}/gs) ?? []) {
      yield { tool_calls: [{ index, function: { arguments: part } }] };
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
