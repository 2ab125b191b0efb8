/** Sandboxes of V1 (interface 5), each with the conversations and repositories in it. */
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import type { SandboxSecrets } from '../../domain/sandbox.ts';
import { readSandbox, type AppConversationRecord, type SandboxRecord } from '../../protocol/v1/records.ts';
import { lacksRoute } from '../change-routes.ts';
import { read, type Links } from '../links.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { refuseUnknownSpec } from '../quirks/unknown-spec.ts';
import { removeOrRead } from '../removal.ts';
import type { Server } from '../server.ts';
import { foundNothing, unsupportedBy, type Answer } from '../transport/answer.ts';
import type { Call } from '../transport/call.ts';
import { getSandbox, noSandbox, searchConversations, searchSandboxes } from './calls.ts';
import { sandboxUse, toSandbox } from './records.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';

/** The most conversations that are read to list the contents of sandboxes. */
const MOST_CONVERSATIONS = 1000;

export function createSandboxes(links: Links): Server['sandboxes'] {
  const { redaction } = links.network;
  const change = async (id: string, verb: 'pause' | 'resume', spec?: string): Promise<void> => {
    const path = `/api/v1/sandboxes/${encodeURIComponent(id)}/${verb}`;
    const { status } = await sendChange(links, id, verb, { method: 'POST', path, query: { sandbox_spec_id: spec } });
    if (status === 404) throw noSandbox(id);
  };
  return {
    async list(page, pageSize, use = 'read') {
      const found = await searchSandboxes(links, page, pageSize);
      const uses =
        found.items.length === 0 || use === 'none'
          ? new Map<string, AppConversationRecord[]>()
          : await conversationsBySandbox(links);
      return {
        items: found.items.map((record) => toSandbox(record, sandboxUse(uses.get(record.id) ?? []), redaction)),
        next: found.next,
      };
    },
    async get(id) {
      const [record, conversations] = await Promise.all([getSandbox(links, id), gather(links, id)]);
      return toSandbox(record, sandboxUse(conversations), redaction);
    },
    async secrets(id): Promise<SandboxSecrets> {
      return { session_api_key: (await getSandbox(links, id)).session_api_key };
    },
    async create(specId) {
      return toSandbox(await createSandbox(links, specId), sandboxUse([]), redaction);
    },
    pause: (id) => change(id, 'pause'),
    resume: (id, spec) => change(id, 'resume', spec),
    remove: (id) => removeSandbox(links, id),
    exec: async (id, program, streams) => await (await import('./exec.ts')).execV1(links, id, program, streams),
    files: async (id) => await (await import('./sandbox-files.ts')).openFiles(links, id),
  };
}

/** Throws `not-found`, and `unsupported` where the server lacks the route. */
export async function removeSandbox(links: Links, id: string): Promise<void> {
  // The handler reads the query and ignores the path; another name there would delete another sandbox.
  const path = `/api/v1/sandboxes/${encodeURIComponent(id)}`;
  await removeOrRead(links, `sandbox ${id}`, {
    async remove() {
      const answer = await sendChange(links, id, 'delete', { method: 'DELETE', path, query: { sandbox_id: id } });
      if (foundNothing(answer)) throw noSandbox(id);
    },
    isThere: () => isThere(links, id),
  });
}

/**
 * @returns an answer of 404 only where the sandbox is not there
 * @throws unsupported where the server lacks the route
 */
async function sendChange(
  links: Links,
  id: string,
  verb: string,
  call: Pick<Call, 'method' | 'path' | 'query'>,
): Promise<Answer> {
  const answer = await links.app.request({
    ...call,
    safe: 'idempotent',
    timeoutMs: LIMITS_MS.start,
    accept: [404, 405],
  });
  if (!(await lacksRoute(answer, () => isThere(links, id)))) return answer;
  throw unsupportedBy(answer, `this server cannot ${verb} a sandbox: it has no route for this`);
}

async function isThere(links: Links, id: string): Promise<boolean> {
  try {
    return (await getSandbox(links, id)).status !== 'MISSING';
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function conversationsBySandbox(links: Links): Promise<Map<string, AppConversationRecord[]>> {
  const bySandbox = new Map<string, AppConversationRecord[]>();
  for (const record of await gather(links)) {
    if (record.sandbox_id === null) continue;
    const known = bySandbox.get(record.sandbox_id) ?? [];
    known.push(record);
    bySandbox.set(record.sandbox_id, known);
  }
  return bySandbox;
}

async function gather(links: Links, sandboxId?: string): Promise<AppConversationRecord[]> {
  const records = new Map<string, AppConversationRecord>();
  for await (const record of allPages(byId, (page) => searchConversations(links, { sandboxId }, page))) {
    records.set(record.id, record);
    if (records.size >= MOST_CONVERSATIONS) break;
  }
  return [...records.values()];
}

/** Throws `not-found` for an unknown spec. Sent once. */
export async function createSandbox(links: Links, specId: string | null): Promise<SandboxRecord> {
  if (specId !== null) await refuseUnknownSpec(links, specId);
  try {
    const answer = await links.app.request({
      method: 'POST',
      path: '/api/v1/sandboxes',
      query: { sandbox_spec_id: specId },
      safe: 'once',
      timeoutMs: LIMITS_MS.start,
    });
    const record = read(answer, (body) => readSandbox(body));
    links.network.redaction.add(record.session_api_key);
    return record;
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unknown-outcome') throw error;
    const { items } = await searchSandboxes(links, null, 5).catch((failure: unknown) => {
      throw isAppError(failure) && failure.kind !== 'interrupted' ? error : failure;
    });
    const newest = items.map((record) => `${record.id} (${record.created_at ?? 'no time'})`);
    throw new AppError('unknown-outcome', error.message, {
      ...error.details,
      hint: `the newest sandboxes are: ${newest.join(', ') || 'none'}`,
    });
  }
}
