/** One conversation (interface 7.4) and its workspace (7.5) at the agent server of a sandbox. */
import { AppError, isNotFound, isOfKind, nullIf } from '../../base/errors.ts';
import type { ConfirmationDecision } from '../../domain/confirmation.ts';
import {
  readAgentConversation,
  readGitChanges,
  readGitDiff,
  type AgentConversationRecord,
  type GitChange,
} from '../../protocol/agent-server/records.ts';
import { readPage } from '../../protocol/shape.ts';
import { readEvent, type EventRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../../domain/ids.ts';
import { read, type Links } from '../shared/links.ts';
import { byId, eachPage, type Page } from '../../domain/pages.ts';
import type { Answer } from '../http/answer.ts';
import type { CallOptions } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import type { Transport } from '../http/transport.ts';
import { searchQuery, type Pages, type RecordQuery } from './events.ts';
import { runCommand, runShortCommand, type CommandResult } from './shell-command.ts';

export class AgentClient {
  readonly key: string | null;
  readonly conversationId: string;
  readonly transport: Transport;
  readonly #links: Links;
  readonly #path: string;

  constructor(
    links: Links,
    { transport, key }: { transport: Transport; key: string | null },
    conversationId: string,
  ) {
    this.#links = links;
    this.transport = transport;
    this.key = key;
    this.conversationId = normalId(conversationId);
    this.#path = `/api/conversations/${encodeURIComponent(this.conversationId)}`;
  }

  async conversation(): Promise<AgentConversationRecord> {
    return read(await this.transport.request({ path: this.#path }), readAgentConversation);
  }

  async events(
    search: Parameters<typeof searchQuery>[0],
    page: string | null,
  ): Promise<Page<EventRecord>> {
    const query = searchQuery(search, page);
    const answer = await this.transport.request({ path: `${this.#path}/events/search`, query });
    return read(answer, (body) => readPage(body, 'events', readEvent));
  }

  eventPages({ order, since }: RecordQuery, known = new Set<string>()): Pages {
    return eachPage(byId, (page) => this.events({ order, since }, page), { ahead: 'next', known });
  }

  /** Newest first. */
  async newestEvents(): Promise<EventRecord[]> {
    return (await this.events({ order: 'newest-first', limit: 30 }, null)).items;
  }

  /** The agent continues if `run`. Sent once. */
  async send(content: unknown[], effect: 'run' | 'store'): Promise<void> {
    const body = { role: 'user', content, run: effect === 'run' };
    await this.#post('/events', { body });
  }

  /** Answers the actions that are pending when the request arrives. Sent once. */
  async respond(decision: ConfirmationDecision, reason: string | null): Promise<void> {
    const body = { accept: decision === 'accept', ...(reason !== null && { reason }) };
    await this.#post('/events/respond_to_confirmation', { body });
  }

  /** The answer when the server refuses because of the status (409), else null. */
  async run(): Promise<Answer | null> {
    const call = { safe: 'idempotent', accept: [409], timeoutMs: LIMITS_MS.step } as const;
    const answer = await this.#post('/run', call);
    return answer.status === 409 ? answer : null;
  }

  /** An older server only pauses, after the current step. Throws `unsupported`, `not-found`. */
  async stop(): Promise<void> {
    const call = {
      safe: 'idempotent',
      accept: [404, 405],
      timeoutMs: LIMITS_MS.interrupt,
    } as const;
    const interrupt = this.#post('/interrupt', call).catch(nullIf(isOfKind('server')));
    if (((await interrupt)?.status ?? 404) < 300) return;
    const pause = { safe: 'idempotent', timeoutMs: LIMITS_MS.step } as const;
    await this.#post('/pause', pause).catch(async (error: unknown) => {
      if (!isNotFound(error)) throw error;
      await this.conversation(); // throws not-found where the 404 is about the conversation
      const message = 'this server cannot stop a run: it has no route for this';
      throw new AppError('unsupported', message, error.details);
    });
  }

  async setConfirmationPolicy(
    kind: 'AlwaysConfirm' | 'ConfirmRisky' | 'NeverConfirm',
  ): Promise<void> {
    await this.#post('/confirmation_policy', { body: { policy: { kind } }, safe: 'idempotent' });
  }

  async rename(title: string): Promise<void> {
    const call = { method: 'PATCH', body: { title }, safe: 'idempotent' } as const;
    const timeoutMs = LIMITS_MS.agentRename;
    await this.transport.request({ ...call, path: this.#path, timeoutMs });
  }

  /** Counts as reading: only for commands that change nothing. */
  inspect(command: string, timeoutSeconds: number): Promise<CommandResult> {
    const options = { command, cwd: '.', timeoutSeconds, safe: 'read' } as const;
    return runCommand(this.#links, this.transport, options);
  }

  /** As `inspect`, in one request: the output has at most SHORT_BYTES. */
  inspectShortly(command: string, timeoutSeconds: number): Promise<CommandResult> {
    const options = { command, cwd: '.', timeoutSeconds, safe: 'read' } as const;
    return runShortCommand(this.transport, options);
  }

  gitChanges(path: string): Promise<GitChange[]> {
    return this.#git('/api/git/changes', path, readGitChanges);
  }

  gitDiff(path: string): Promise<{ original: string | null; modified: string | null }> {
    return this.#git('/api/git/diff', path, readGitDiff);
  }

  #post(path: string, options: Omit<CallOptions, 'method' | 'path'>): Promise<Answer> {
    return this.transport.request({ ...options, method: 'POST', path: this.#path + path });
  }

  /** Agent servers up to 1.12 take the path as a part of the route alone (interface 7.5). */
  async #git<T>(route: string, path: string, reader: (body: unknown) => T): Promise<T> {
    const query = { path };
    let answer = await this.transport.request({ path: route, query, accept: [404, 405] });
    if (answer.status >= 300) {
      const encoded = path.split('/').map(encodeURIComponent).join('/');
      answer = await this.transport.request({ path: `${route}/${encoded}` });
    }
    return read(answer, reader);
  }
}
