// A V1 server, app server and agent server in one, with one conversation of 100,000 events in pages
// of 100, for the bench of `conv events` and `follow`. With `socket` as an argument the events are
// stored one by one while they are sent over the web socket of a follower, and the run ends with
// the last; a second argument is their number. Prints its URL.
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';

export const EVENTS = 100_000;
export const ID = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
export const AGENT_KEY = 'key-of-the-sandbox';

const PAGE = 100;
const START_MS = Date.UTC(2026, 0, 1);
const STEP_MS = 50;
const PRINTED = 'tests/unit/test_parser.py::test_a_long_enough_name PASSED   [ 12%]\n'.repeat(8);

if (process.argv[1] === import.meta.filename) {
  const [, , way = 'reads', count = EVENTS] = process.argv;
  const total = Number(count);
  let stored = way === 'socket' ? 0 : total;
  // Built before the first request, so that a request costs the server little.
  const pages =
    way === 'socket'
      ? []
      : Array.from({ length: total / PAGE }, (_, page) => bodyOf(page * PAGE, total));
  let url = '';
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const isEvents = pathname.endsWith('/events/search');
    const body = isEvents ? eventsOf(searchParams) : documentOf(pathname, url, stored === total);
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' });
    response.end(body ?? '{"detail":"Not Found"}');
  });
  const eventsOf = (query) => {
    const start = Number(query.get('page_id') ?? indexOf(query.get('timestamp__gte')));
    return pages[start / PAGE] ?? bodyOf(start, stored);
  };
  const sockets = new WebSocketServer({ noServer: true });
  if (way === 'socket')
    server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, async (client) => {
        while (stored < total) {
          const text = JSON.stringify(stored === total - 1 ? lastEvent(stored) : event(stored));
          stored += 1;
          await new Promise((resolve) => client.send(text, resolve));
        }
      }),
    );
  server.listen(0, '127.0.0.1', () => {
    url = `http://127.0.0.1:${server.address().port}`;
    process.stdout.write(`${url}\n`);
  });
}

function bodyOf(start, end) {
  const items = Array.from({ length: Math.max(0, Math.min(PAGE, end - start)) }, (_, index) =>
    event(start + index),
  );
  return Buffer.from(
    JSON.stringify({ items, next_page_id: start + PAGE < end ? String(start + PAGE) : null }),
  );
}

/** The first event of that time or later; null: the first of all. */
function indexOf(time) {
  return time === null
    ? 0
    : Math.max(0, Math.ceil((Date.parse(`${time.slice(0, 23)}Z`) - START_MS) / STEP_MS));
}

function lastEvent(index) {
  const { id, timestamp } = event(index);
  const members = {
    source: 'environment',
    kind: 'ConversationStateUpdateEvent',
    key: 'execution_status',
  };
  return { id, timestamp, ...members, value: 'finished' };
}

/** About 1 KB: the message of the user first, then commands and their output in turn. */
function event(index) {
  const base = {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    timestamp: new Date(START_MS + index * STEP_MS).toISOString().replace('Z', '000'),
  };
  if (index === 0) {
    const content = [{ type: 'text', text: 'Repair the tests', cache_prompt: false }];
    return {
      ...base,
      source: 'user',
      kind: 'MessageEvent',
      llm_message: { role: 'user', content },
    };
  }
  const isAction = index % 2 === 1;
  const step = isAction ? index : index - 1;
  const call = `call_${String(step).padStart(20, '0')}`;
  const command = `pytest -x tests/unit -k part_${step}`;
  const members = isAction ? actionOf(step, call, command) : observationOf(command);
  return { ...base, tool_name: 'terminal', tool_call_id: call, ...members };
}

function actionOf(step, call, command) {
  return {
    source: 'agent',
    kind: 'ActionEvent',
    thought: [{ type: 'text', text: `Step ${step}: look at what fails now`, cache_prompt: false }],
    action: { kind: 'TerminalAction', command, is_input: false, timeout: null },
    tool_call: { id: call, name: 'terminal', arguments: JSON.stringify({ command }) },
    llm_response_id: `response-${step}`,
    security_risk: 'LOW',
    summary: 'run a part of the tests',
  };
}

function observationOf(command) {
  const metadata = {
    exit_code: 0,
    pid: 4242,
    username: 'root',
    hostname: 'sandbox',
    working_dir: '/workspace/project',
  };
  const content = [{ type: 'text', text: PRINTED, cache_prompt: false }];
  return {
    source: 'environment',
    kind: 'ObservationEvent',
    observation: {
      kind: 'TerminalObservation',
      content,
      command,
      exit_code: 0,
      timeout: false,
      metadata,
    },
  };
}

function documentOf(pathname, url, hasEnded) {
  if (pathname === '/api/v1/web-client/config') return '{"app_mode":"oss"}';
  if (pathname === '/api/v1/app-conversations/count') return '1';
  if (pathname === `/api/conversations/${ID}`)
    return `{"id":"${ID}","execution_status":"finished"}`;
  return pathname === '/api/v1/app-conversations'
    ? JSON.stringify([conversation(url, hasEnded)])
    : undefined;
}

function conversation(url, hasEnded) {
  return {
    id: ID,
    sandbox_id: 'sandbox-1',
    title: 'Repair the tests',
    llm_model: 'provider/model',
    selected_repository: 'team/project',
    created_at: '2026-01-01T00:00:00.000000Z',
    updated_at: '2026-01-01T02:00:00.000000Z',
    sandbox_status: 'RUNNING',
    execution_status: hasEnded ? 'finished' : 'running',
    conversation_url: `${url}/api/conversations/${ID}`,
    session_api_key: AGENT_KEY,
  };
}
