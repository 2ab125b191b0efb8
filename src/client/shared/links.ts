import { AppError } from '../../base/errors.ts';
import { isShapeError } from '../../protocol/shape.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { KnownFacts } from './features.ts';
import type { Answer } from '../http/answer.ts';
import type { Network } from '../http/network.ts';
import type { Transport } from '../http/transport.ts';
import type { Clock } from '../../base/clock.ts';

export interface Links extends KnownFacts {
  app: Transport;
  /** For requests after an interruption. */
  appUntil(signal: AbortSignal): Transport;
  /** Sent by `app`; a socket needs it. */
  appKey: string | null;
  agent(baseUrl: string, key: string | null): Transport;
  network: Network;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  notice(text: string): void;
  randomId(): string;
  /** `record`: of the conversation that was started last; its follower does not read it again. */
  starts: { record: AppConversationRecord | null; backend: AgentConversationRecord | null };
}

export function read<T>(answer: Answer, reader: (body: unknown) => T): T {
  try {
    return reader(answer.body);
  } catch (error) {
    if (!isShapeError(error)) throw error;
    throw new AppError('server', `unexpected response: ${error.message}`, {
      status: answer.status,
      request: answer.request,
      hint: 'is this the right server? its version may be unknown to acs',
      cause: error,
    });
  }
}

/** The page of a conversation in the web interface; null where the server has none. */
export function webUrl({ app, facts }: Pick<Links, 'app' | 'facts'>, id: string): string | null {
  const isThere = facts.features['web-interface'] !== 'absent';
  return isThere ? `${app.baseUrl}/conversations/${id}` : null;
}
