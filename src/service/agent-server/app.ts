/** The HTTP routes of the agent server: a function from Request to Response. */
import type { Hono } from 'hono';
import { ReplayError } from '../agents/replay/reading.ts';
import { refuse, type HttpError } from '../http/answer.ts';
import { createRouter, type Handlers } from '../http/router.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { AgentRoute } from '../served-routes.ts';
import type { WorkerContext } from './context.ts';
import { conversationHandlers } from './routes/conversations.ts';
import { eventHandlers } from './routes/events.ts';
import { infoHandlers } from './routes/info.ts';
import { sandboxHandlers } from './routes/sandbox.ts';
import { ConflictError } from './run-loop.ts';

/** A message is read into memory whole; the file of an upload is not, and has no limit. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;

export function createAgentApp(worker: WorkerContext): Hono {
  let lastUse = worker.nowMicroseconds();
  const handlers: Handlers<AgentRoute> = {
    ...infoHandlers(worker, () => Math.floor((worker.nowMicroseconds() - lastUse) / 1_000_000)),
    ...conversationHandlers(worker),
    ...eventHandlers(worker),
    ...sandboxHandlers(worker),
  };
  return createRouter(handlers, {
    host: '127.0.0.1',
    key: worker.sessionApiKey,
    acceptsBearer: false,
    maxBodyBytes: MAX_BODY_BYTES,
    faults: worker.faultRules,
    onBegin: (path) => {
      if (/^\/(api|local)\//.test(path)) lastUse = worker.nowMicroseconds();
    },
    errorOf: agentErrorOf,
    log: worker.log,
  });
}

/** The answer to an error of a run, a replay or the isolation; null: another error. */
export function agentErrorOf(error: Error): HttpError | null {
  if (error instanceof ConflictError) return refuse(409, error.message);
  if (error instanceof ReplayError) return refuse(422, error.message);
  if (!(error instanceof IsolationError)) return null;
  if (error.code === 'not-found') return refuse(404, error.message);
  if (error.code === 'gone') return refuse(503, `The sandbox does not answer: ${error.message}`);
  return refuse(400, error.message);
}
