/** Sandboxes and their specs (interface sections 5 and 6). */
import type { Context } from 'hono';
import { pageQuery } from '../../../../protocol/v1/requests.ts';
import type { SandboxRow } from '../../../storage/sandboxes.ts';
import { json, offsetPage, readQuery, readQueryList, refuse, refuseDetail } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { deliverWhenRunning } from '../../pending.ts';
import { isSpecName, sandboxSpecs } from '../../../sandboxes/specs.ts';
import type { Route } from '../../route.ts';

const MAX_IDS = 100;

export function sandboxRoutes(context: AppContext): Route[] {
  return [...specRoutes(context), ...readingRoutes(context), ...changingRoutes(context)];
}

function specRoutes({ specs: { byDefault }, clock }: AppContext): Route[] {
  const specs = sandboxSpecs(byDefault, clock.stamp());
  return [
    {
      method: 'GET',
      path: '/api/v1/sandbox-specs/search',
      handle: (c) => {
        const query = readQuery(c, pageQuery);
        return json(offsetPage(query.limit, query.page_id, (limit, offset) => specs.slice(offset, offset + limit)));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/sandbox-specs',
      handle: (c) => json(readQueryList(c, 'id').map((id) => specs.find((spec) => spec.id === id) ?? null)),
    },
  ];
}

function readingRoutes({ store }: AppContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/sandboxes/search',
      handle: (c) => {
        const query = readQuery(c, pageQuery);
        const page = offsetPage(query.limit, query.page_id, (limit, offset) => store.sandboxes.page(limit, offset));
        return json({ ...page, items: page.items.map(sandboxRecord) });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/sandboxes',
      handle: (c) => {
        const ids = readQueryList(c, 'id');
        if (ids.length > MAX_IDS) {
          throw refuse(400, `Cannot request more than ${MAX_IDS} sandboxes at once, got ${ids.length}`);
        }
        return json(ids.map((id) => store.sandboxes.get(id)).map((row) => (row === null ? null : sandboxRecord(row))));
      },
    },
  ];
}

function changingRoutes({ store, supervisor, starter, log }: AppContext): Route[] {
  const id = (c: Context): string => c.req.param('sandbox_id') ?? c.req.param('id') ?? '';
  return [
    {
      method: 'POST',
      path: '/api/v1/sandboxes',
      handle: async (c) => {
        const wanted = c.req.query('sandbox_spec_id') ?? null;
        if (wanted !== null && !isSpecName(wanted))
          throw refuse(400, `Sandbox spec not found: ${wanted.slice(0, 100)}`);
        const created = supervisor.create(wanted);
        // As a genuine server does: who gets the answer can use the sandbox. One that failed says so in its record.
        await Promise.all([starter.prepare(created.id), supervisor.whenRunning(created.id).catch(() => undefined)]);
        return json(sandboxRecord(store.sandboxes.get(created.id) ?? created));
      },
    },
    {
      method: 'POST',
      path: '/api/v1/sandboxes/{sandbox_id}/pause',
      handle: (c) => {
        if (store.sandboxes.get(id(c)) === null) throw refuse(404, 'Not Found');
        // Only begun: what runs inside may take a while to be stopped.
        supervisor.pause(id(c)).catch((error: unknown) => {
          log(`sandbox ${id(c)} could not be paused: ${String(error)}`);
        });
        return json({ success: true });
      },
    },
    {
      method: 'POST',
      path: '/api/v1/sandboxes/{sandbox_id}/resume',
      handle: async (c) => {
        if (!(await supervisor.resume(id(c), c.req.query('sandbox_spec_id')))) throw refuse(404, 'Not Found');
        void deliverWhenRunning({ store, supervisor, log }, id(c));
        return json({ success: true });
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/sandboxes/{id}',
      handle: async (c) => {
        const named = c.req.query('sandbox_id');
        if (named === undefined) {
          throw refuseDetail([{ type: 'missing', loc: ['query', 'sandbox_id'], msg: 'Field required', input: null }]);
        }
        if (named !== id(c)) throw refuse(400, 'The sandbox in the path and the one in the query differ');
        if (!(await supervisor.remove(named))) throw refuse(404, 'Not Found');
        return json({ success: true });
      },
    },
  ];
}

/** A sandbox as it is shown; key and address only while it runs. */
export function sandboxRecord(row: SandboxRow): unknown {
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
