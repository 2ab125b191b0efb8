/** Sandboxes, their specs, and the secrets that a sandbox may read (interface sections 5 and 6). */
import type { Context } from 'hono';
import * as v from 'valibot';
import { list, record, text } from '../../../protocol/detail.ts';
import { pageQuery } from '../../../protocol/v1/requests.ts';
import { refuse, SUCCESS } from '../../http/answer.ts';
import { isKey } from '../../http/guard.ts';
import { listPage, timePage } from '../../http/request.ts';
import { query, type Handlers } from '../../http/route.ts';
import { isSpecName, sandboxSpecs } from '../../sandboxes/specs.ts';
import type { AppRoute } from '../../http/served-routes.ts';
import type { SandboxRow, SandboxStore } from '../../storage/sandboxes.ts';
import type { AppContext } from '../context.ts';
import { secretValue, shownSecrets, userSecrets } from '../../settings/user-secrets.ts';
import { cut } from '../../../base/text/well-formed.ts';

const MAX_IDS = 100;

const idQuery = record({ id: list(text()) });
const specQuery = record({ sandbox_spec_id: v.optional(text()) });
const sandboxQuery = record({ sandbox_id: text() });

export function sandboxHandlers({
  store,
  supervisor,
  starter,
  specs,
  clock,
}: AppContext): Handlers<AppRoute> {
  const { sandboxes } = store;
  const shownSpecs = sandboxSpecs(specs.byDefault, clock.stamp());
  const idOf = (c: Context): string => c.req.param('sandbox_id') ?? '';
  const remove = query(sandboxQuery, async ({ sandbox_id: named }, c) => {
    const inPath = c.req.param('id') ?? named;
    if (named !== inPath)
      throw refuse(400, 'The sandbox in the path and the one in the query differ');
    if (!(await supervisor.remove(named))) throw refuse(404, 'Not Found');
    return SUCCESS;
  });
  /** For the key of the sandbox. */
  const secretsFor = (c: Context) => {
    if (sandboxOfKey(c, sandboxes).id !== idOf(c))
      throw refuse(403, 'Session API key does not match sandbox');
    return userSecrets(store);
  };
  return {
    'GET /api/v1/sandbox-specs/search': query(pageQuery, (given) => listPage(given, shownSpecs)),
    'GET /api/v1/sandbox-specs': query(idQuery, (given) =>
      given.id.map((id) => shownSpecs.find((spec) => spec.id === id) ?? null),
    ),
    'GET /api/v1/sandboxes/search': query(pageQuery, (given) => {
      const page = timePage(given, (limit, from) => sandboxes.page(limit, from));
      return { ...page, items: page.items.map(sandboxRecord) };
    }),
    'GET /api/v1/sandboxes': query(idQuery, ({ id: ids }) => {
      if (ids.length > MAX_IDS) {
        throw refuse(
          400,
          `Cannot request more than ${MAX_IDS} sandboxes at once, got ${ids.length}`,
        );
      }
      return ids
        .map((id) => sandboxes.get(id))
        .map((row) => (row === null ? null : sandboxRecord(row)));
    }),
    'POST /api/v1/sandboxes': query(specQuery, async ({ sandbox_spec_id: wanted = null }) => {
      if (wanted !== null && !isSpecName(wanted)) {
        throw refuse(400, `Sandbox spec not found: ${cut(wanted, 100)}`);
      }
      const created = supervisor.create(wanted);
      // Answered when the sandbox runs, as genuine servers do, or waits. The record of one that
      // failed has the reason.
      await Promise.all([starter.prepare(created.id), supervisor.start(created.id)]);
      return sandboxRecord(sandboxes.get(created.id) ?? created);
    }),
    // Answered after the pause: a client that reads the status next gets PAUSED.
    'POST /api/v1/sandboxes/{sandbox_id}/pause': async (c) => {
      if (!(await supervisor.pause(idOf(c)))) throw refuse(404, 'Not Found');
      return SUCCESS;
    },
    'POST /api/v1/sandboxes/{sandbox_id}/resume': query(
      specQuery,
      async ({ sandbox_spec_id: spec }, c) => {
        if (!(await supervisor.resume(idOf(c), spec))) throw refuse(404, 'Not Found');
        return SUCCESS;
      },
    ),
    'DELETE /api/v1/sandboxes': remove,
    'DELETE /api/v1/sandboxes/{id}': remove,
    'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets': (c) => shownSecrets(secretsFor(c)),
    'GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}': (c) =>
      secretValue(secretsFor(c), c.req.param('secret_name')),
  };
}

/** The running sandbox whose key the request has; 401 for any other. */
export function sandboxOfKey(c: Context, sandboxes: SandboxStore): SandboxRow {
  const given = c.req.header('x-session-api-key');
  if (given === undefined) throw refuse(401, 'X-Session-API-Key header is required');
  const sandbox = sandboxes.all().find(({ session_api_key: key }) => isKey(given, key));
  if (sandbox === undefined) throw refuse(401, 'Invalid session API key');
  if (sandbox.status !== 'RUNNING') throw refuse(401, 'Sandbox is not running');
  return sandbox;
}

function sandboxRecord(row: SandboxRow): unknown {
  const isRunning = row.status === 'RUNNING' && row.port !== null;
  return {
    id: row.id,
    created_by_user_id: null,
    sandbox_spec_id: row.isolation,
    status: row.status,
    status_detail: row.status_detail,
    session_api_key: isRunning ? row.session_api_key : null,
    exposed_urls: isRunning
      ? [{ name: 'AGENT_SERVER', url: `http://127.0.0.1:${row.port}`, port: row.port }]
      : null,
    created_at: row.created_at,
    last_active_at: row.last_active_at,
  };
}
