/** One conversation (interface 7.4) and its workspace (7.5) at the agent server of a sandbox. */
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
import type { Page } from '../../domain/pages.ts';
import type { Answer } from '../http/answer.ts';
import type { Call } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import { runCommand } from './shell-command.ts';

export interface AgentClient {
  readonly baseUrl: string;
  readonly key: string | null;
  readonly conversationId: string;
  conversation(): Promise<AgentConversationRecord>;
  /** `since`: naive time, inclusive. */
  events(
    filter: { since?: string; order: 'TIMESTAMP' | 'TIMESTAMP_DESC'; limit?: number },
    page: string | null,
  ): Promise<Page<EventRecord>>;
  /** With `run` the agent continues. Sent once. */
  send(content: unknown[], effect: 'run' | 'store'): Promise<void>;
  /** Answers the actions that are pending when the request arrives. Sent once. */
  respond(decision: ConfirmationDecision, reason: string | null): Promise<void>;
  /** The answer when the server refuses because of the status (409), else null. */
  run(): Promise<Answer | null>;
  interrupt(): Promise<'taken' | 'unsupported'>;
  /** Answers only when the current step has ended. */
  pause(): Promise<void>;
  setConfirmationPolicy(policy: 'AlwaysConfirm' | 'ConfirmRisky' | 'NeverConfirm'): Promise<void>;
  rename(title: string): Promise<void>;
  /** Counts as reading: only for commands that change nothing. */
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
  const get = (path: string, more: Pick<Call, 'query' | 'accept'> = {}): Promise<Answer> =>
    transport.request({ method: 'GET', path, safe: 'read', ...more });
  const post = (
    path: string,
    call: Pick<Call, 'safe' | 'body' | 'accept' | 'timeoutMs'>,
  ): Promise<Answer> => transport.request({ method: 'POST', path: own + path, ...call });
  /**
   * The path is in the query; agent servers up to 1.12 have it in the path alone (interface 7.5).
   */
  const git = async <T>(route: string, path: string, reader: (body: unknown) => T): Promise<T> => {
    const answer = await get(route, { query: { path }, accept: [404, 405] });
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return read(answer.status < 300 ? answer : await get(`${route}/${encoded}`), reader);
  };
  return {
    baseUrl: transport.baseUrl,
    key,
    conversationId: normalId(conversationId),
    conversation: async () => read(await get(own), (body) => readAgentConversation(body)),
    async events({ since, order, limit = 100 }, page) {
      const query = {
        timestamp__gte: since,
        sort_order: order,
        limit: Math.min(limit, 100),
        page_id: page,
      };
      const answer = await get(`${own}/events/search`, { query });
      return read(answer, (body) => readPage(body, 'events', readEvent));
    },
    async send(content, effect) {
      await post('/events', {
        body: { role: 'user', content, run: effect === 'run' },
        safe: 'once',
      });
    },
    async respond(decision, reason) {
      const body = { accept: decision === 'accept', ...(reason === null ? {} : { reason }) };
      await post('/events/respond_to_confirmation', { body, safe: 'once' });
    },
    async run() {
      const answer = await post('/run', {
        safe: 'idempotent',
        accept: [409],
        timeoutMs: LIMITS_MS.step,
      });
      return answer.status === 409 ? answer : null;
    },
    async interrupt() {
      const call = {
        safe: 'idempotent',
        accept: [404, 405],
        timeoutMs: LIMITS_MS.interrupt,
      } as const;
      return (await post('/interrupt', call)).status < 300 ? 'taken' : 'unsupported';
    },
    async pause() {
      await post('/pause', { safe: 'idempotent', timeoutMs: LIMITS_MS.step });
    },
    async setConfirmationPolicy(kind) {
      await post('/confirmation_policy', { body: { policy: { kind } }, safe: 'idempotent' });
    },
    async rename(title) {
      const call = { method: 'PATCH', path: own, body: { title }, safe: 'idempotent' } as const;
      await transport.request({ ...call, timeoutMs: LIMITS_MS.agentRename });
    },
    inspect: (command, cwd, timeoutSeconds) =>
      runCommand(links, transport, { command, cwd, timeoutSeconds, safe: 'read' }),
    gitChanges: (path) => git('/api/git/changes', path, readGitChanges),
    gitDiff: (path) => git('/api/git/diff', path, readGitDiff),
  };
}
