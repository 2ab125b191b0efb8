import type { Hono } from 'hono';
import * as v from 'valibot';
import { ReplayError } from '../base/steps.ts';
import { refuse, type HttpError } from '../http/answer.ts';
import { readDocument } from '../http/document.ts';
import { dictionary, integer, texts } from '../http/records.ts';
import { route, type Route } from '../http/route.ts';
import { createRouter } from '../http/router.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { AgentContext } from './context.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { eventRoutes } from './routes/events.ts';
import { userRoutes } from './routes/settings.ts';
import { workspaceRoutes } from './routes/workspace.ts';
import { ConflictError } from './run-loop.ts';

const MAX_BODY_BYTES = 128 * 1024 * 1024;
/** The release that is served. The TypeScript client refuses one below 1.23.0. */
export const RELEASE = '1.34.0';
const TOOLS = ['file_editor', 'terminal'];

export const AGENT_ROUTES: readonly Route<AgentContext>[] = [
  route('GET /openapi.json', {
    callers: 'acs (probe)',
    access: 'open',
    answers: { 200: dictionary() },
    handle: ({ config }) => readDocument(config.root, 'agent-server'),
  }),
  ...(
    [
      ['alive', 'ok', 'typescript-client'],
      ['health', 'ok', 'sdk, cloud workspace, typescript-client'],
      ['ready', 'ready', 'typescript-client'],
    ] as const
  ).map(([name, status, callers]) =>
    route(`GET /${name}`, {
      callers,
      access: 'open',
      answers: { 200: v.object(texts('status')) },
      handle: () => ({ status }),
    }),
  ),
  route('GET /server_info', {
    callers: 'sdk, typescript-client',
    access: 'open',
    answers: {
      200: v.object({
        ...texts('title', 'version'),
        uptime: integer(),
        idle_time: integer(),
        usable_tools: v.array(v.string()),
      }),
    },
    handle({ startedAt, lastUse, nowMicroseconds, version }) {
      const secondsSince = (time: number) => Math.floor((nowMicroseconds() - time) / 1_000_000);
      return {
        uptime: secondsSince(startedAt),
        idle_time: secondsSince(lastUse),
        title: 'Agent server of the local service',
        version: RELEASE,
        sdk_version: RELEASE,
        tools_version: RELEASE,
        workspace_version: RELEASE,
        acs_version: version,
        build_git_sha: 'unknown',
        build_git_ref: 'unknown',
        python_version: 'none: this server runs on Node.js',
        usable_tools: TOOLS,
        runtime_idle_timeout_seconds: null,
        max_foreground_terminal_timeout_seconds: null,
        docs: '/docs',
        redoc: '/redoc',
      };
    },
  }),
  route('GET /api/tools/', {
    callers: 'typescript-client',
    answers: { 200: v.array(v.string()) },
    handle: () => TOOLS,
  }),
  route('GET /api/vscode/url', {
    callers: 'typescript-client',
    answers: { 200: v.object({ url: v.null() }) },
    handle: () => ({ url: null }),
  }),
  route('POST /api/skills', {
    callers: 'sdk, cloud workspace, typescript-client',
    answers: { 200: v.object({ skills: v.array(dictionary()), sources: dictionary() }) },
    handle: () => ({ skills: [], sources: {} }),
  }),
  ...userRoutes,
  ...conversationRoutes,
  ...eventRoutes,
  ...workspaceRoutes,
];

export const AGENT_SOCKETS = {
  '/sockets/events/{conversation_id}': 'acs conv follow, sdk, typescript-client',
  '/sockets/bash-events': 'typescript-client',
  '/sockets/exec': 'acs sandbox exec, acs sandbox shell',
} as const;

export function createAgentApp(context: AgentContext): Hono {
  return createRouter(AGENT_ROUTES, context, {
    host: '127.0.0.1',
    key: context.config.session_api_key,
    acceptsBearer: false,
    maxBodyBytes: MAX_BODY_BYTES,
    faults: context.faultRules,
    onBegin: (path) => {
      if (/^\/(api|local)\//.test(path)) context.lastUse = context.nowMicroseconds();
    },
    errorOf: agentErrorOf,
    log: context.log,
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
