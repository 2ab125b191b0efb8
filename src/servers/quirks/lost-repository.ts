/**
 * Reads the repository that a record has lost from its start task, which keeps the request.
 *
 * Servers:  openhands-ai 1.11.0; 1.6.0 has the same code
 * Symptom:  `conv list --repo` and bulk commands miss a conversation with this repository, or select it as one
 *           without.
 * Evidence: interface 13 "Records written twice"; rate unknown; test/servers/quirks/lost-repository.test.ts
 * Cost:     0 requests for records with a repository or with tags of their start; else 1 search for a record, 1 or
 *           more for a page, at most 30 more in one command
 * Remove:   unknown
 */
import { isAppError } from '../../errors.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { parseTime } from '../../text/time.ts';
import { normalId } from '../ids.ts';
import type { Links, StartedFrom } from '../links.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { conversationOf, LONGEST_START_MS, searchStartTasks, type StartTaskQuery } from '../v1/start-tasks.ts';
import { isOnlyUnwritten } from './unwritten-start.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';

/** Start tasks that are read for a page of conversations: about one for each, and those of others of that time. */
const MOST_TASKS = 500;
/** Conversations of a page that are looked up one by one: after a stop servers report a later creation time. */
const MOST_MISSED = 10;
/** The same for a whole command: a list of many pages must not take minutes under the rate limit of a server. */
const MOST_MISSED_IN_ALL = 30;

/**
 * The records, those without a repository completed from their start task. Each is looked up once; errors are ignored.
 */
export async function restored<T extends AppConversationRecord | null>(
  links: Links,
  records: readonly T[],
  isDoubtful: (record: T) => boolean,
): Promise<T[]> {
  const unknown = records.filter((record) => isDoubtful(record) && !links.starts.known.has(idOf(record)));
  if (unknown.length > 0)
    await lookUp(
      links,
      unknown.filter((record) => record !== null),
    );
  return records.map((record) => {
    const from = isDoubtful(record) ? links.starts.known.get(idOf(record)) : undefined;
    if (record === null || from == null) return record;
    return {
      ...record,
      selected_repository: from.repository,
      selected_branch: record.selected_branch ?? from.branch,
      git_provider: record.git_provider ?? from.git_provider,
    };
  });
}

function idOf(record: AppConversationRecord | null): string {
  return normalId(record?.id ?? '');
}

async function lookUp(links: Links, records: AppConversationRecord[]): Promise<void> {
  const missing = new Set(records.map(idOf));
  try {
    // A start task that is recorded as failed has no conversation: it is found among all start tasks of its time.
    if (records.length === 1) await lookAmong(links, { conversationId: [...missing][0] }, missing);
    if (missing.size > 0) await lookAmong(links, tasksOfTheirTime(records), missing);
    if (records.length > 1) {
      for (const conversationId of [...missing].slice(0, MOST_MISSED)) {
        if (links.starts.missed++ >= MOST_MISSED_IN_ALL) break;
        await lookAmong(links, { conversationId }, missing);
      }
    }
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
  }
  for (const id of missing) links.starts.known.set(id, null);
}

type TasksOfATime = StartTaskQuery & { untilMs?: number };

/** Takes those it finds out of the missing. */
async function lookAmong(links: Links, { untilMs, ...query }: TasksOfATime, missing: Set<string>): Promise<void> {
  let read = 0;
  for await (const task of allPages(byId, (page) =>
    searchStartTasks(links, { ...query, timeoutMs: LIMITS_MS.optionalRead }, page),
  )) {
    read += 1;
    const id = task.status === 'ERROR' && !isOnlyUnwritten(task) ? '' : normalId(conversationOf(task) ?? '');
    if (missing.delete(id)) links.starts.known.set(id, startedFrom(task));
    if (missing.size === 0 || read === MOST_TASKS || (parseTime(task.created_at) ?? 0) > (untilMs ?? Infinity)) break;
  }
}

/**
 * From before the oldest record to the newest, oldest first: the start tasks of an old page come before all later ones.
 */
function tasksOfTheirTime(records: AppConversationRecord[]): TasksOfATime {
  const times = records.map((record) => parseTime(record.created_at)).filter((time) => time !== null);
  if (times.length === 0) return {};
  const since = new Date(Math.min(...times) - LONGEST_START_MS).toISOString();
  return { since, order: 'oldest-first', untilMs: Math.max(...times) };
}

function startedFrom({ request }: StartTaskRecord): StartedFrom | null {
  const text = (name: string): string | null => {
    const value = request[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const repository = text('selected_repository');
  return repository === null
    ? null
    : { repository, branch: text('selected_branch'), git_provider: text('git_provider') };
}
