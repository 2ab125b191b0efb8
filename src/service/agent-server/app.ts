import type { Hono } from 'hono';
import { ReplayError } from '../base/steps.ts';
import { refuse, type HttpError } from '../http/answer.ts';
import { readDocument } from '../http/document.ts';
import type { Handlers } from '../http/route.ts';
import { createRouter } from '../http/router.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { AgentRoute } from '../http/served-routes.ts';
import type { WorkerContext } from './context.ts';
import { workerConversationHandlers } from './routes/conversations.ts';
import { workerSettingsHandlers } from './routes/settings.ts';
import { workspaceHandlers } from './routes/workspace.ts';
import { ConflictError } from './run-loop.ts';

/** A message is read into memory whole; the file of an upload is not, and has no limit. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;
/**
 * The agent server and openhands-sdk release that is served. The TypeScript client refuses one
 * below 1.23.0.
 */
export const RELEASE = '1.34.0';
const TOOLS = ['file_editor', 'terminal'];

/** `lastUse` in microseconds. */
export function agentHandlers(worker: WorkerContext, lastUse: () => number): Handlers<AgentRoute> {
  const started = worker.nowMicroseconds();
  const secondsSince = (time: number): number =>
    Math.floor((worker.nowMicroseconds() - time) / 1_000_000);
  return {
    'GET /openapi.json': () => readDocument(worker.root, 'agent-server'),
    'GET /server_info': () => ({
      uptime: secondsSince(started),
      idle_time: secondsSince(lastUse()),
      title: 'Agent server of the local service',
      version: RELEASE,
      sdk_version: RELEASE,
      tools_version: RELEASE,
      workspace_version: RELEASE,
      acs_version: worker.version,
      build_git_sha: 'unknown',
      build_git_ref: 'unknown',
      python_version: 'none: this server runs on Node.js',
      usable_tools: TOOLS,
      runtime_idle_timeout_seconds: null,
      max_foreground_terminal_timeout_seconds: null,
      docs: '/docs',
      redoc: '/redoc',
    }),
    'GET /alive': () => ({ status: 'ok' }),
    'GET /health': () => ({ status: 'ok' }),
    'GET /ready': () => ({ status: 'ready' }),
    'GET /api/tools/': () => TOOLS,
    'GET /api/vscode/url': () => ({ url: null }),
    // There are no skills.
    'POST /api/skills': () => ({ skills: [], sources: {} }),
    ...workerConversationHandlers(worker),
    ...workspaceHandlers(worker),
    ...workerSettingsHandlers(worker),
  };
}

export function createAgentApp(worker: WorkerContext): Hono {
  let lastUse = worker.nowMicroseconds();
  const handlers = agentHandlers(worker, () => lastUse);
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
