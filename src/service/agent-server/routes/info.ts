/** Routes about the server. */
import { json } from '../../http/answer.ts';
import type { Handlers } from '../../http/router.ts';
import type { AgentRoute } from '../../served-routes.ts';
import type { WorkerContext } from '../context.ts';

/**
 * The release of agent server and openhands-sdk whose interface is served. Clients compare it: the TypeScript client
 * refuses an agent server below 1.23.0.
 */
const RELEASE = '1.34.0';
const TITLE = 'Agent server of the local service';
const TOOLS = ['file_editor', 'terminal'];

/** @param idleSeconds the time since the last request to a route below `/api` */
export function infoHandlers(worker: WorkerContext, idleSeconds: () => number): Handlers<AgentRoute> {
  const started = worker.nowMicroseconds();
  return {
    'GET /server_info': () =>
      json({
        uptime: Math.floor((worker.nowMicroseconds() - started) / 1_000_000),
        idle_time: idleSeconds(),
        title: TITLE,
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
    'GET /alive': () => json({ status: 'ok' }),
    'GET /health': () => json({ status: 'ok' }),
    'GET /ready': () => json({ status: 'ready' }),
    'GET /api/tools/': () => json(TOOLS),
    'GET /api/vscode/url': () => json({ url: null }),
  };
}
