/** An app server with the calls of a client of V0. */
import { expect } from 'vitest';
import { createTestApp, until, type Answer, type TestApp } from '../../support.ts';

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

export interface V0App {
  app: TestApp;
  post(path: string, body?: unknown): Promise<Answer>;
  get<Body = Record<string, unknown>>(path: string): Promise<Body>;
  /** The id of the conversation that the body asks for. */
  create(body: unknown): Promise<string>;
  /** The event of the last state, once it is one of these. */
  stateReached(id: string, ...states: string[]): Promise<V0Event | undefined>;
}

export async function createV0App(): Promise<V0App> {
  const app = await createTestApp();
  const post = (path: string, body?: unknown) => app.call('POST', path, body);
  const get = async <Body = Record<string, unknown>>(path: string): Promise<Body> =>
    (await app.call('GET', path)).body as Body;
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
