/** Requests to the agent server of a sandbox: one conversation (interface 7.4) and its workspace (7.5). */
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
import { normalId } from '../ids.ts';
import { read, type Links } from '../links.ts';
import type { Page } from '../../domain/pages.ts';
import type { Answer } from '../transport/answer.ts';
import type { Transport } from '../transport/transport.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';
import { runCommand } from './shell-command.ts';

export interface AgentEventFilter {
  /** Naive time, inclusive. */
  since?: string;
  order: 'TIMESTAMP' | 'TIMESTAMP_DESC';
  limit?: number;
}

export type ConfirmationPolicy = 'AlwaysConfirm' | 'ConfirmRisky' | 'NeverConfirm';

export interface AgentClient {
  readonly baseUrl: string;
  readonly key: string | null;
  readonly conversationId: string;
  conversation(): Promise<AgentConversationRecord>;
  events(filter: AgentEventFilter, page: string | null): Promise<Page<EventRecord>>;
  /** Appends a user message; with `run` the agent continues. Sent once. */
  send(content: unknown[], effect: 'run' | 'store'): Promise<void>;
  /** Answers the actions that are pending when the request arrives. Sent once. */
  respond(decision: ConfirmationDecision, reason: string | null): Promise<void>;
  /** Continues the run. Returns the answer when the server refuses because of the status (409), else null. */
  run(): Promise<Answer | null>;
  /** Interrupts the current step; false when the server is too old to do that. */
  interrupt(): Promise<'taken' | 'unsupported'>;
  /** Answers only when the current step has ended. */
  pause(): Promise<void>;
  setConfirmationPolicy(policy: ConfirmationPolicy): Promise<void>;
  /** Sets the title in the record of the sandbox. */
  rename(title: string): Promise<void>;
  /**
   * A command in the workspace, its whole output. It counts as reading: only use it for commands that change nothing.
   */
  inspect(
    command: string,
    cwd: string,
    timeoutSeconds: number,
  ): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  gitChanges(path: string): Promise<GitChange[]>;
  gitDiff(path: string): Promise<{ original: string | null; modified: string | null }>;
}

export function createAgentClient(
  links: Links,
  baseUrl: string,
  key: string | null,
  conversationId: string,
): AgentClient {
  const transport = links.agent(baseUrl, key);
  const own = `/api/conversations/${encodeURIComponent(normalId(conversationId))}`;
  return {
    baseUrl: transport.baseUrl,
    key,
    conversationId: normalId(conversationId),
    async conversation() {
      return read(await transport.request({ method: 'GET', path: own, safe: 'read' }), (body) =>
        readAgentConversation(body),
      );
    },
    async events(filter, page) {
      const query = {
        timestamp__gte: filter.since,
        sort_order: filter.order,
        limit: Math.min(filter.limit ?? 100, 100),
        page_id: page,
      };
      const answer = await transport.request({ method: 'GET', path: `${own}/events/search`, query, safe: 'read' });
      return read(answer, (body) => readPage(body, 'events', readEvent));
    },
    async send(content, effect) {
      await transport.request({
        method: 'POST',
        path: `${own}/events`,
        body: { role: 'user', content, run: effect === 'run' },
        safe: 'once',
      });
    },
    async respond(decision, reason) {
      await transport.request({
        method: 'POST',
        path: `${own}/events/respond_to_confirmation`,
        body: { accept: decision === 'accept', ...(reason === null ? {} : { reason }) },
        safe: 'once',
      });
    },
    async run() {
      const call = {
        method: 'POST',
        path: `${own}/run`,
        safe: 'idempotent',
        accept: [409],
        timeoutMs: LIMITS_MS.step,
      } as const;
      const answer = await transport.request(call);
      return answer.status === 409 ? answer : null;
    },
    async interrupt() {
      const call = {
        method: 'POST',
        path: `${own}/interrupt`,
        safe: 'idempotent',
        accept: [404, 405],
        timeoutMs: LIMITS_MS.interrupt,
      } as const;
      return (await transport.request(call)).status < 300 ? 'taken' : 'unsupported';
    },
    async pause() {
      await transport.request({ method: 'POST', path: `${own}/pause`, safe: 'idempotent', timeoutMs: LIMITS_MS.step });
    },
    async setConfirmationPolicy(kind) {
      await transport.request({
        method: 'POST',
        path: `${own}/confirmation_policy`,
        body: { policy: { kind } },
        safe: 'idempotent',
      });
    },
    async rename(title) {
      await transport.request({
        method: 'PATCH',
        path: own,
        body: { title },
        safe: 'idempotent',
        timeoutMs: LIMITS_MS.agentRename,
      });
    },
    inspect: (command, cwd, timeoutSeconds) =>
      runCommand(links, transport, { command, cwd, timeoutSeconds, safe: 'read' }),
    gitChanges: (path) => gitChanges(transport, path),
    gitDiff: (path) => gitDiff(transport, path),
  };
}

/** The query form since 1.12.0, the path form before (interface 7.5). */
async function gitChanges(transport: Transport, path: string): Promise<GitChange[]> {
  const answer = await transport.request({
    method: 'GET',
    path: '/api/git/changes',
    query: { path },
    safe: 'read',
    accept: [404, 405],
  });
  if (answer.status < 300) return read(answer, (body) => readGitChanges(body));
  const old = await transport.request({ method: 'GET', path: `/api/git/changes/${encodePath(path)}`, safe: 'read' });
  return read(old, (body) => readGitChanges(body));
}

async function gitDiff(
  transport: Transport,
  path: string,
): Promise<{ original: string | null; modified: string | null }> {
  const answer = await transport.request({
    method: 'GET',
    path: '/api/git/diff',
    query: { path },
    safe: 'read',
    accept: [404, 405],
  });
  if (answer.status < 300) return read(answer, (body) => readGitDiff(body));
  const old = await transport.request({ method: 'GET', path: `/api/git/diff/${encodePath(path)}`, safe: 'read' });
  return read(old, (body) => readGitDiff(body));
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
