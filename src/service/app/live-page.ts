/** The page of a conversation, and what an open page gets when the conversation changes. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  answerMessage,
  changesMessage,
  type ConversationDiff,
  diffOfEdits,
  diffOfPatch,
  endMessage,
  factsMessage,
  livePageParts,
  moreSteps,
  stepsMessage,
} from '../../page/live.ts';
import type { Markup } from '../../page/markup.ts';
import type { PageFacts } from '../../page/page.ts';
import { createStepReader, type PageEvent } from '../../page/steps.ts';
import { createRedactor, type Redactor } from '../../base/text/redact.ts';
import { normalizeTime } from '../../base/text/time.ts';
import { gitDelta } from '../agent-server/git.ts';
import { answerIn, type ExecutionStatus, type StoredEvent } from '../storage/conversation-state.ts';
import type { ConversationRow } from '../storage/conversations.ts';
import { type EventLog, type EventPageRequest, parseStored } from '../storage/event-log.ts';
import type { AppContext } from './context.ts';
import { sandboxOf, workspacePath, type SandboxState } from './conversations.ts';
import type { Pages } from './pages.ts';
import { shownRepository } from './repository.ts';

export function livePage(
  context: AppContext,
  row: ConversationRow,
): AsyncGenerator<string, void, void> {
  const reader = new EventReader(context, row.id);
  let after = 0;
  let until = 0;
  return livePageParts(
    {
      conversation: pageFacts(row, context, reader),
      async *events() {
        const first = reader.after(0);
        after = first.position;
        until = Math.max(after, reader.last());
        yield first.events;
      },
      // A message of the agent during a run is not its final answer.
      answer: () => Promise.resolve(row.execution_status === 'running' ? null : reader.answer()),
      diff: () => pageChanges(context, row, reader),
    },
    () => ({ after, until }),
  );
}

export async function moreOfPage(
  context: AppContext,
  row: ConversationRow,
  { after, until }: { after: number; until: number },
): Promise<string> {
  const reader = new EventReader(context, row.id);
  const steps = await stepReaderAt(reader, row, after);
  const { events, position } = reader.after(after, Math.max(0, Math.min(BATCH, until - after)));
  let items = '';
  for (const event of events) items += (await steps.read(event))?.html ?? '';
  const rest = events.length === 0 ? null : moreSteps({ after: position, until });
  return items + (rest?.html ?? '');
}

/** It has read the events before: the first step has a duration too. */
async function stepReaderAt(
  reader: EventReader,
  row: ConversationRow,
  position: number,
): Promise<ReturnType<typeof createStepReader>> {
  const steps = createStepReader(row.created_at);
  const from = Math.max(0, position - 50);
  for (const event of reader.after(from, position - from).events) await steps.read(event);
  return steps;
}

/** `isAgain`: a reconnection, which may lack an answer or changes that followed `position`. */
export async function* liveMessages(
  context: AppContext,
  id: string,
  from: { position: number; isAgain: boolean },
  viewer: ReturnType<Pages['join']>,
): AsyncGenerator<string, void, void> {
  const reader = new EventReader(context, id);
  let { position, isAgain: isStale } = from;
  let shownFacts = '';
  let steps: ReturnType<typeof createStepReader> | null = null;
  for (;;) {
    const row = context.store.conversations.get(id);
    if (row === null) return yield endMessage('This conversation was deleted.');
    steps ??= await stepReaderAt(reader, row, position);
    const after = yield* stepMessages(reader, steps, position);
    isStale ||= after !== position;
    position = after;
    const facts = factsMessage(pageFacts(row, context, reader));
    if (facts !== shownFacts) yield (shownFacts = facts);
    // Both are read from many events: not while the run adds to them.
    if (isStale && row.execution_status !== 'running') {
      isStale = false;
      yield answerMessage(reader.answer());
      yield changesMessage(await pageChanges(context, row, reader));
    }
    const why = await viewer.next();
    if (why === 'left') return;
    if (why === 'service-ends') {
      return yield endMessage(
        'The local service has ended. This page opens again with acs conv open.',
      );
    }
  }
}

async function* stepMessages(
  reader: EventReader,
  steps: ReturnType<typeof createStepReader>,
  from: number,
): AsyncGenerator<string, number, void> {
  for (let next = reader.after(from); ; next = reader.after(next.position)) {
    if (next.events.length === 0) return next.position;
    const items: (Markup | null)[] = [];
    for (const event of next.events) items.push(await steps.read(event));
    yield stepsMessage(items, next.position);
    // The answer shown is that to the message before.
    if (next.events.some(({ signal }) => signal === 'message')) yield answerMessage(null);
  }
}

/** The changes of the workspace where it can be compared, else those in the edit events. */
export async function pageChanges(
  context: AppContext,
  row: ConversationRow,
  events: EventReader,
): Promise<ConversationDiff> {
  const patch = await workspacePatch(context, row);
  if (patch !== null) return diffOfPatch(events.redact(patch));
  return await diffOfEdits(events.edits(), {
    ...row,
    sandbox_status: sandboxOf(row, context).state.toLowerCase(),
  });
}

/** Null: the workspace is gone, or cannot be read now. */
export async function workspacePatch(
  { store, supervisor }: AppContext,
  row: ConversationRow,
): Promise<string | null> {
  const { base_commit: ref } = row;
  const sandbox = store.sandboxes.get(row.sandbox_id);
  const folder = workspacePath(row, '.');
  if (sandbox?.status === 'RUNNING') {
    const query = { path: folder, ...(ref && { ref }) };
    const sent = supervisor.send(sandbox.id, { method: 'GET', path: '/api/file/archive', query });
    const answer = await sent.catch(() => null);
    return answer?.status === 200 ? answer.body.toString('utf8') : null;
  }
  if (sandbox?.status !== 'PAUSED' && sandbox?.status !== 'ERROR') return null;
  // No process of the sandbox continues: git runs in an isolation of its own, with the same spec.
  const { Sandbox } = await import('../isolation/sandbox.ts');
  const reader = new Sandbox({ ...supervisor.configOf(sandbox), sandbox_id: randomUUID() });
  try {
    return await gitDelta(reader, folder, ref);
  } catch {
    return null;
  } finally {
    await reader.close();
  }
}

type Status = PageFacts['status'];

const OF_RUN: Partial<Record<ExecutionStatus, Status>> = {
  waiting_for_confirmation: 'waiting',
  error: 'failed',
};

/** The status of a run that had not ended when its sandbox stopped. */
const OF_SANDBOX: Record<Exclude<SandboxState, 'RUNNING'>, Status> = {
  STARTING: 'starting',
  PAUSED: 'paused',
  ERROR: 'failed',
  MISSING: 'archived',
};

const WAITING_FOR: Partial<Record<Status, PageFacts['waiting_for']>> = {
  waiting: 'confirmation',
  idle: 'user',
};

function statusOf({ execution_status: run }: ConversationRow, state: SandboxState): Status {
  const status = run === null ? null : (OF_RUN[run] ?? (run as Status));
  if (state === 'RUNNING') return status ?? 'starting';
  // An end outlives the sandbox, and a pending confirmation its pause.
  const stays = ['finished', 'failed', 'stuck', ...(state === 'PAUSED' ? ['waiting'] : [])];
  return status !== null && stays.includes(status) ? status : OF_SANDBOX[state];
}

function failureReason(
  row: ConversationRow,
  status: Status,
  events: Pick<EventReader, 'newest'>,
): PageFacts['reason'] {
  if (status === 'stuck')
    return { code: 'stuck', text: 'the agent did the same step again and again' };
  if (status !== 'failed') return null;
  if (row.start_detail !== null) return { code: 'start-failed', text: row.start_detail };
  const { code = 'error', detail = 'no reason is known' } =
    events.newest('ConversationErrorEvent') ?? {};
  return { code: String(code), text: String(detail) };
}

export function pageFacts(
  row: ConversationRow,
  context: Pick<AppContext, 'store'>,
  events: Pick<EventReader, 'newest'>,
): PageFacts {
  const { state } = sandboxOf(row, context);
  const status = statusOf(row, state);
  const { accumulated_cost = null, accumulated_token_usage: usage } = row.metrics ?? {};
  return {
    id: row.id,
    title: row.title,
    status,
    sandbox_status: state.toLowerCase() as PageFacts['sandbox_status'],
    reason: failureReason(row, status, events),
    waiting_for: WAITING_FOR[status] ?? null,
    cost_usd: accumulated_cost,
    tokens: usage ? { input: usage.prompt_tokens, output: usage.completion_tokens } : null,
    model: row.llm_model,
    repository: row.repository && shownRepository(row.repository),
    branch: row.branch,
    created_at: row.created_at,
    updated_at: row.updated_at,
    url: null,
  };
}

const BATCH = 200;

/** The events of a conversation, redacted. Its log may be closed or deleted between two reads. */
export class EventReader {
  readonly #context: Pick<AppContext, 'store' | 'logs' | 'key'>;
  readonly #id: string;
  readonly #sandboxKey: string;

  constructor(context: Pick<AppContext, 'store' | 'logs' | 'key'>, id: string) {
    const { conversations, sandboxes } = context.store;
    this.#context = context;
    this.#id = id;
    const sandbox = sandboxes.get(conversations.get(id)?.sandbox_id ?? null);
    this.#sandboxKey = sandbox?.session_api_key ?? '';
  }

  last(): number {
    return this.#read((log) => log.lastSequence()) ?? 0;
  }

  after(position: number, most = BATCH): { events: PageEvent[]; position: number } {
    const rows = this.#read((log) => log.readAfter(position, most)) ?? [];
    const events = this.#shown(rows.map(({ json }) => parseStored<StoredEvent>(json)));
    return { events, position: rows.at(-1)?.sequence ?? position };
  }

  newest(kind: string): PageEvent['payload'] | null {
    const page = this.#read((log) => log.search({ kind, order: 'desc', limit: 1 }));
    return this.#shown(page?.items ?? [])[0]?.payload ?? null;
  }

  async *edits(): AsyncGenerator<PageEvent[], void, void> {
    const filter = { kind: 'ObservationEvent', body: 'EditorObservation' };
    for (const events of this.#pages({ ...filter, order: 'asc' })) {
      yield this.#shown(events);
      await setImmediate(); // other requests are handled between two pages
    }
  }

  answer(): string | null {
    for (const events of this.#pages({ order: 'desc' })) {
      for (const event of events) {
        if (signalOf(event) === 'message') return null;
        const text = answerIn(event);
        if (text) return this.redact(text);
      }
    }
    return null;
  }

  redact(text: string): string {
    return this.#redactor().text(text);
  }

  #read<Result>(work: (log: EventLog) => Result): Result | null {
    const row = this.#context.store.conversations.get(this.#id);
    return row && this.#context.logs.read(row, work);
  }

  *#pages(filter: Omit<EventPageRequest, 'limit'>): Generator<StoredEvent[], void, void> {
    for (let after: number | undefined; ;) {
      const page = this.#read((log) => log.search({ ...filter, after, limit: BATCH }));
      yield page?.items ?? [];
      if (page?.next == null) return;
      after = page.next.after;
    }
  }

  /** Made anew for each read: secrets may be added while the page is open. */
  #redactor(): Redactor {
    const secrets = this.#read((log) => log.read('secrets')) ?? {};
    return createRedactor([this.#context.key, this.#sandboxKey, ...Object.values(secrets)]);
  }

  #shown(events: readonly StoredEvent[]): PageEvent[] {
    const { value } = this.#redactor();
    return events.map((event) => {
      const payload = value(event) as StoredEvent;
      const { kind, source } = payload;
      const timestamp = normalizeTime(payload.timestamp);
      return { id: event.id, timestamp, source, kind, payload, signal: signalOf(event) };
    });
  }
}

function signalOf({ kind, source, key }: StoredEvent): PageEvent['signal'] {
  if (kind === 'MessageEvent' && source === 'user') return 'message';
  return kind === 'ConversationStateUpdateEvent' && key === 'execution_status'
    ? 'status:other'
    : null;
}
