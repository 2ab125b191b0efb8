/** An app server with the calls of a client of V0. */
import { expect } from 'vitest';
import { type AppOfTests, appOfSuite, until } from '../../support.ts';

export interface V0Event {
  id: number;
  source?: string;
  cause?: number;
  action?: string;
  observation?: string;
  content?: string;
  args?: Record<string, unknown>;
  extras?: Record<string, unknown>;
}

export interface V0App extends Pick<AppOfTests, 'get' | 'post'> {
  app: AppOfTests;
  /** The id of the conversation that the body requests. */
  create(body: unknown): Promise<string>;
  /** The event of the last state, once it is one of these. */
  stateReached(id: string, ...states: string[]): Promise<V0Event | undefined>;
}

/** One app server for the tests of the enclosing suite, closed after them. */
export function v0AppOfSuite(): V0App {
  const app = appOfSuite();
  const { get, post } = app;
  const lastState = async (id: string): Promise<V0Event | undefined> => {
    const { events } = await get<{ events: V0Event[] }>(at(id, '/events?reverse=true&limit=100'));
    return events.find((event) => event.observation === 'agent_state_changed');
  };
  return {
    app,
    post,
    get,
    async create(body) {
      const answer = await post('/api/conversations', body);
      const accepted = { status: 'ok', message: null, conversation_status: 'STARTING' };
      expect(answer).toMatchObject({ status: 200, body: accepted });
      return (answer.body as { conversation_id: string }).conversation_id;
    },
    stateReached: (id, ...states) =>
      until(
        () => lastState(id),
        (event) => states.includes(String(event?.extras?.agent_state)),
      ),
  };
}

export const at = (id: string, rest = ''): string => `/api/conversations/${id}${rest}`;

/** Runs a command, and writes, changes and reads a file. */
export const TRAJECTORY = JSON.stringify([
  { source: 'agent', action: 'run', args: { command: 'echo from the shell' } },
  { source: 'agent', action: 'write', args: { path: 'notes.txt', content: 'one\n' } },
  {
    source: 'agent',
    action: 'edit',
    args: { path: 'notes.txt', command: 'str_replace', old_str: 'one', new_str: 'two' },
  },
  { source: 'agent', action: 'read', args: { path: 'notes.txt' } },
  { source: 'agent', action: 'finish', args: { final_thought: 'Ready.' } },
]);

/** An MCP configuration as V0 has it, with a server of each kind. */
export const MCP = {
  sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: 'sse-key' }],
  stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: 'stdio-secret' } }],
  shttp_servers: [{ url: 'http://127.0.0.1:9/mcp', api_key: null, timeout: 90 }],
};
