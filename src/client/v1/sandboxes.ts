import { AppError, isOfKind, nullIf } from '../../base/errors.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { normalizeTime } from '../../base/text/time.ts';
import { readSandbox, type SandboxRecord, type SpecRecord } from '../../protocol/v1/records.ts';
import { lacksRoute, removeOrRead } from '../shared/change-routes.ts';
import { foundNothing, errorBy } from '../http/answer.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { read, type Links } from '../shared/links.ts';
import type { ListQuery, Server } from '../shared/server.ts';
import { find, getSandbox, keyed, noSandbox, SANDBOXES, search, SPECS } from './calls.ts';
import { toSandbox } from './records.ts';
import { cut } from '../../base/text/well-formed.ts';

const MOST_CONVERSATIONS = 1000;

/** @param lists of the conversations that use sandboxes */
export function createSandboxes(
  links: Links,
  lists: readonly Server['conversations']['list'][],
): Server['sandboxes'] {
  const conversations = async (query: ListQuery = {}) => {
    const all = lists.map((list) => {
      const fetch = (page: string | null) => list(query, page);
      return collectPages({ fetch, id: byId, limit: MOST_CONVERSATIONS });
    });
    return (await Promise.all(all)).flatMap(({ items }) => items);
  };
  return {
    async list(page, pageSize, use = 'read') {
      const { items, next } = await search(links, SANDBOXES, { limit: pageSize, page_id: page });
      const all = items.length === 0 || use === 'none' ? [] : await conversations();
      const inside = (id: string) => all.filter(({ sandbox_id }) => sandbox_id === id);
      return { items: items.map((record) => toSandbox(links, record, inside(record.id))), next };
    },
    async get(id) {
      const [record, inside] = await Promise.all([
        getSandbox(links, id),
        conversations({ sandboxId: id }),
      ]);
      return toSandbox(links, record, inside);
    },
    async secrets(id) {
      return { session_api_key: (await getSandbox(links, id)).session_api_key };
    },
    create: async (specId) => toSandbox(links, await createSandbox(links, specId)),
    pause: (id) => change(links, id, 'pause'),
    resume: (id, spec) => resumeSandbox(links, id, spec),
    remove: (id) => removeSandbox(links, id),
    /** Without the socket of the local service, over the bash routes of interface 7.5. */
    async exec(id, program, streams) {
      const presence = links.facts.features['exec-socket'];
      const needsSocket = streams.stdin !== null || program.terminal !== null;
      if (needsSocket && presence === 'absent') {
        const what = program.terminal === null ? 'stdin of a program' : 'a terminal in a sandbox';
        const message = `this server has no route for ${what}; the local service has`;
        throw new AppError('unsupported', message);
      }
      const record = await getSandbox(links, id);
      const baseUrl = agentUrlOf(record, 'cannot run a program');
      const { session_api_key: key } = record;
      if (needsSocket || presence === 'present') {
        const { execOverSocket } = await import('../agent-server/exec-socket.ts');
        return await execOverSocket(links, { baseUrl, key }, program, streams);
      }
      const { execOverBash } = await import('../agent-server/exec-bash.ts');
      const workingDir = await workingDirOf(links, record);
      return await execOverBash(links, links.agent(baseUrl, key), { program, streams, workingDir });
    },
    async files(id) {
      const { AgentFiles } = await import('../agent-server/files.ts');
      const record = await getSandbox(links, id);
      const url = agentUrlOf(record, 'has no files that can be copied');
      const agent = links.agent(url, record.session_api_key);
      return new AgentFiles(links, agent, async () => {
        const folder = await workingDirOf(links, record);
        // A relative one is that of the agent server.
        return folder?.startsWith('/') === true ? folder : null;
      });
    },
  };
}

export function createSpecs(links: Links): Server['specs'] {
  return {
    async list(page, pageSize) {
      const { items, next } = await search(links, SPECS, { limit: pageSize, page_id: page });
      const specs = items.map(({ id, command, working_dir, created_at }, index) => ({
        id,
        default: page === null && index === 0,
        command,
        working_dir,
        created_at: normalizeTime(created_at),
      }));
      return { items: specs, next };
    },
  };
}

export async function getSpec(links: Links, id: string): Promise<SpecRecord> {
  const { items } = await search(links, SPECS, { page_id: null });
  const record =
    items.find((item) => item.id === id) ??
    (await find(links, SPECS, id).catch(nullIf(isOfKind('unsupported'))));
  if (record !== null) return record;
  const names = items.map((item) => item.id).slice(0, 10);
  throw new AppError('not-found', `there is no sandbox spec ${cut(id, 100)} at this server`, {
    hint: `it has: ${names.join(', ') || 'none'}`,
  });
}

/** Throws `not-found` for an unknown spec, which servers answer with 400 or 500. Sent once. */
export async function createSandbox(links: Links, specId: string | null): Promise<SandboxRecord> {
  if (specId !== null) await getSpec(links, specId);
  const query = { sandbox_spec_id: specId };
  const { path } = SANDBOXES;
  const call = { method: 'POST', path, query, timeoutMs: LIMITS_MS.start } as const;
  const answer = await links.app.request(call).catch((error: unknown) => {
    const hint = 'see whether it was created: acs sandbox list';
    throw isOfKind('unknown-outcome')(error) ? error.with({ hint }) : error;
  });
  return read(answer, keyed(links, readSandbox));
}

export async function resumeSandbox(links: Links, id: string, spec?: string): Promise<void> {
  await change(links, id, 'resume', { sandbox_spec_id: spec });
}

export async function removeSandbox(links: Links, id: string): Promise<void> {
  await removeOrRead(links, `sandbox ${id}`, {
    // The handler deletes the sandbox of the query, and ignores the path.
    remove: () => change(links, id, 'delete', { sandbox_id: id }),
    isThere: () => isThere(links, id),
  });
}

async function change(
  links: Links,
  id: string,
  verb: 'pause' | 'resume' | 'delete',
  query: Record<string, string | undefined> = {},
): Promise<void> {
  const path = `${SANDBOXES.path}/${encodeURIComponent(id)}`;
  const isDeletion = verb === 'delete';
  const answer = await links.app.request({
    method: isDeletion ? 'DELETE' : 'POST',
    path: isDeletion ? path : `${path}/${verb}`,
    query,
    safe: 'idempotent',
    timeoutMs: LIMITS_MS.start,
    accept: [404, 405],
  });
  if (await lacksRoute(answer, () => isThere(links, id)))
    throw errorBy(
      answer,
      'unsupported',
      `this server cannot ${verb} a sandbox: it has no route for this`,
    );
  if (isDeletion ? foundNothing(answer) : answer.status === 404) throw noSandbox(id);
}

async function isThere(links: Links, id: string): Promise<boolean> {
  const record = await find(links, SANDBOXES, id);
  return record !== null && record.status !== 'MISSING';
}

async function workingDirOf(
  links: Links,
  { sandbox_spec_id: spec }: SandboxRecord,
): Promise<string | null> {
  if (spec === null) return null;
  const record = await getSpec(links, spec).catch(nullIf(isOfKind('not-found', 'unsupported')));
  return record?.working_dir ?? null;
}

function agentUrlOf({ id, status, exposed_urls: urls }: SandboxRecord, cannot: string): string {
  const url = urls.find(({ name }) => name === 'AGENT_SERVER')?.url;
  if (status === 'RUNNING' && url !== undefined && /^https?:\/\//.test(url)) return url;
  const state =
    status === 'RUNNING'
      ? 'its record has no address of its agent server'
      : `it is ${status.toLowerCase()}`;
  throw new AppError('conflict', `sandbox ${id} ${cannot}: ${state}`, {
    hint: `see its state: acs sandbox show ${id}`,
    data: { id, sandbox_status: status.toLowerCase() },
  });
}
