/** Sandboxes, their specs, and the secrets that a sandbox may read (interface sections 5 and 6). */
import type { Context } from 'hono';
import * as v from 'valibot';
import { list, record, text } from '../../../protocol/detail.ts';
import { pageQuery } from '../../../protocol/v1/requests.ts';
import { refuse, SUCCESS } from '../../http/answer.ts';
import { isKey } from '../../http/guard.ts';
import { customSecret, pageOf, refused, success } from '../../http/records.ts';
import { assertFew, listPage, timePage } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import { isSpecName, sandboxSpecs } from '../../sandboxes/specs.ts';
import { agentUrl, type SandboxRow, type SandboxStore } from '../../storage/sandboxes.ts';
import type { AppContext } from '../context.ts';
import * as records from '../records.ts';
import { secretValue, shownSecrets, userSecrets } from '../../settings/user-secrets.ts';
import { cut } from '../../../base/text/well-formed.ts';

const MAX_IDS = 100;

const idQuery = record({ id: list(text) });
const specQuery = record({ sandbox_spec_id: v.optional(text) });
const sandboxQuery = record({ sandbox_id: text });

export const sandboxRoutes: readonly Route<AppContext>[] = [
  route('POST /api/v1/sandboxes', {
    callers: 'acs conv new, cloud workspace',
    query: specQuery,
    answers: { 200: records.sandbox, ...refused(400, 501) },
    async handle({ store, supervisor, starter }, { query: { sandbox_spec_id: spec = null } }) {
      if (spec !== null && !isSpecName(spec))
        throw refuse(400, `Sandbox spec not found: ${cut(spec, 100)}`);
      const created = supervisor.create(spec);
      // Answered when the sandbox runs, as genuine servers do, or waits, or has failed.
      await Promise.all([starter.prepare(created.id), supervisor.start(created.id)]);
      return sandboxRecord(store.sandboxes.get(created.id) ?? created);
    },
  }),
  route('GET /api/v1/sandboxes', {
    callers: 'acs sandbox show, cloud workspace, typescript-client',
    query: idQuery,
    answers: { 200: v.array(v.nullable(records.sandbox)), ...refused(400) },
    handle({ store }, { query: { id: ids } }) {
      assertFew(ids, MAX_IDS, 'sandboxes');
      const rows = ids.map((id) => store.sandboxes.get(id));
      return rows.map((row) => row && sandboxRecord(row));
    },
  }),
  route('GET /api/v1/sandboxes/search', {
    callers: 'acs sandbox list',
    query: pageQuery,
    answers: { 200: pageOf(records.sandbox) },
    handle({ store }, { query }) {
      const page = timePage(query, (limit, from) => store.sandboxes.page(limit, from));
      return { ...page, items: page.items.map(sandboxRecord) };
    },
  }),
  route('POST /api/v1/sandboxes/{sandbox_id}/pause', {
    callers: 'acs sandbox pause, typescript-client',
    answers: { 200: success, ...refused(404) },
    // Answered after the pause: a client that reads the status next gets PAUSED.
    handle: ({ supervisor }, { path }) => successOf(supervisor.pause(path.sandbox_id)),
  }),
  route('POST /api/v1/sandboxes/{sandbox_id}/resume', {
    callers: 'acs sandbox start, cloud workspace, typescript-client',
    query: specQuery,
    answers: { 200: success, ...refused(404, 501) },
    handle: ({ supervisor }, { path, query }) =>
      successOf(supervisor.resume(path.sandbox_id, query.sandbox_spec_id)),
  }),
  route('DELETE /api/v1/sandboxes', {
    callers: 'cloud workspace 1.11.5',
    query: sandboxQuery,
    answers: { 200: success, ...refused(404) },
    handle: ({ supervisor }, { query }) => successOf(supervisor.remove(query.sandbox_id)),
  }),
  route('DELETE /api/v1/sandboxes/{id}', {
    callers: 'acs sandbox delete, cloud workspace',
    query: sandboxQuery,
    answers: { 200: success, ...refused(400, 404) },
    handle({ supervisor }, { path: { id }, query }) {
      if (query.sandbox_id !== id)
        throw refuse(400, 'The sandbox in the path and the one in the query differ');
      return successOf(supervisor.remove(id));
    },
  }),
  route('GET /api/v1/sandboxes/{sandbox_id}/settings/secrets', {
    callers: 'cloud workspace',
    access: 'sandboxKey',
    answers: { 200: v.object({ secrets: v.array(customSecret) }), ...refused(401, 403) },
    handle: ({ store }) => shownSecrets(userSecrets(store)),
  }),
  route('GET /api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}', {
    callers: 'cloud workspace',
    access: 'sandboxKey',
    answers: { 200: 'text/plain', ...refused(401, 403, 404) },
    handle: ({ store }, { path }) => secretValue(userSecrets(store), path.secret_name),
  }),
  route('GET /api/v1/sandbox-specs', {
    callers: 'acs sandbox start',
    query: idQuery,
    answers: { 200: v.array(v.nullable(records.sandboxSpec)) },
    handle({ specs, startedAt }, { query }) {
      // A start with one that does not work gets the reason.
      const all = sandboxSpecs({ ...specs, whyNoBubblewrap: null }, startedAt);
      return query.id.map((id) => all.find((spec) => spec.id === id) ?? null);
    },
  }),
  route('GET /api/v1/sandbox-specs/search', {
    callers: 'acs specs list',
    query: pageQuery,
    answers: { 200: pageOf(records.sandboxSpec) },
    handle: ({ specs, startedAt }, { query }) => listPage(query, sandboxSpecs(specs, startedAt)),
  }),
];

/** `isKnown` false: there is no such sandbox. */
async function successOf(isKnown: Promise<boolean>): Promise<typeof SUCCESS> {
  if (!(await isKnown)) throw refuse(404, 'Not Found');
  return SUCCESS;
}

/** The key has to be that of the sandbox in the path. */
export function requireSandboxKey({ store }: AppContext, c: Context): null {
  if (sandboxOfKey(c, store.sandboxes).id !== c.req.param('sandbox_id'))
    throw refuse(403, 'Session API key does not match sandbox');
  return null;
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
  const url = agentUrl(row);
  return {
    id: row.id,
    created_by_user_id: null,
    sandbox_spec_id: row.isolation,
    status: row.status,
    status_detail: row.status_detail,
    session_api_key: url && row.session_api_key,
    exposed_urls: url && [{ name: 'AGENT_SERVER', url, port: row.port }],
    created_at: row.created_at,
    last_active_at: row.last_active_at,
  };
}
