/** Sandboxes and their specs (interface sections 5 and 6). */
import type { Context } from 'hono';
import { pageQuery } from '../../../../protocol/v1/requests.ts';
import type { SandboxRow } from '../../../storage/sandboxes.ts';
import { json, missing, refuse, SUCCESS } from '../../../http/answer.ts';
import { listPage, offsetPage, readQuery, readQueryList } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { isSpecName, sandboxSpecs } from '../../../sandboxes/specs.ts';

const MAX_IDS = 100;

export function sandboxHandlers({ store, supervisor, starter, specs, clock, log }: AppContext): Handlers<AppRoute> {
  const shownSpecs = sandboxSpecs(specs.byDefault, clock.stamp());
  const idOf = (c: Context): string => c.req.param('sandbox_id') ?? '';
  return {
    'GET /api/v1/sandbox-specs/search': (c) => json(listPage(readQuery(c, pageQuery), shownSpecs)),
    'GET /api/v1/sandbox-specs': (c) =>
      json(readQueryList(c, 'id').map((id) => shownSpecs.find((spec) => spec.id === id) ?? null)),
    'GET /api/v1/sandboxes/search': (c) => {
      const page = offsetPage(readQuery(c, pageQuery), (limit, offset) => store.sandboxes.page(limit, offset));
      return json({ ...page, items: page.items.map(sandboxRecord) });
    },
    'GET /api/v1/sandboxes': (c) => {
      const ids = readQueryList(c, 'id');
      if (ids.length > MAX_IDS) {
        throw refuse(400, `Cannot request more than ${MAX_IDS} sandboxes at once, got ${ids.length}`);
      }
      return json(ids.map((id) => store.sandboxes.get(id)).map((row) => (row === null ? null : sandboxRecord(row))));
    },
    'POST /api/v1/sandboxes': async (c) => {
      const wanted = c.req.query('sandbox_spec_id') ?? null;
      if (wanted !== null && !isSpecName(wanted)) {
        throw refuse(400, `Sandbox spec not found: ${wanted.slice(0, 100)}`);
      }
      const created = supervisor.create(wanted);
      // Answered when the sandbox runs, as genuine servers do. The record of one that failed has the reason.
      await Promise.all([starter.prepare(created.id), supervisor.whenRunning(created.id).catch(() => undefined)]);
      return json(sandboxRecord(store.sandboxes.get(created.id) ?? created));
    },
    'POST /api/v1/sandboxes/{sandbox_id}/pause': (c) => {
      const id = idOf(c);
      if (store.sandboxes.get(id) === null) throw refuse(404, 'Not Found');
      // Answered before the processes inside have stopped.
      supervisor.pause(id).catch((error: unknown) => {
        log(`sandbox ${id} could not be paused: ${String(error)}`);
      });
      return json(SUCCESS);
    },
    'POST /api/v1/sandboxes/{sandbox_id}/resume': async (c) => {
      if (!(await supervisor.resume(idOf(c), c.req.query('sandbox_spec_id')))) throw refuse(404, 'Not Found');
      return json(SUCCESS);
    },
    'DELETE /api/v1/sandboxes/{id}': async (c) => {
      const named = c.req.query('sandbox_id');
      if (named === undefined) throw missing('query', 'sandbox_id');
      if (named !== c.req.param('id')) throw refuse(400, 'The sandbox in the path and the one in the query differ');
      if (!(await supervisor.remove(named))) throw refuse(404, 'Not Found');
      return json(SUCCESS);
    },
  };
}

/** The record of a sandbox; key and address only while it runs. */
function sandboxRecord(row: SandboxRow): unknown {
  const isRunning = row.status === 'RUNNING' && row.port !== null;
  return {
    id: row.id,
    created_by_user_id: null,
    sandbox_spec_id: row.isolation,
    status: row.status,
    status_detail: row.status_detail,
    session_api_key: isRunning ? row.session_api_key : null,
    exposed_urls: isRunning ? [{ name: 'AGENT_SERVER', url: `http://127.0.0.1:${row.port}`, port: row.port }] : null,
    created_at: row.created_at,
    last_active_at: row.last_active_at,
  };
}
