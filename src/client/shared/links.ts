import { AppError } from '../../base/errors.ts';
import { isShapeError } from '../../protocol/shape.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { KnownFeatures } from './features.ts';
import type { Answer } from '../http/answer.ts';
import type { Network } from '../http/network.ts';
import type { Transport } from '../http/transport.ts';
import type { Clock } from '../../base/clock.ts';

export interface Links {
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
  features: KnownFeatures;
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
export type WebUrl = (id: string) => string | null;

export function webUrlOf({ app, features }: Pick<Links, 'app' | 'features'>): WebUrl {
  return (id) =>
    features.of('web-interface') === 'absent' ? null : `${app.baseUrl}/conversations/${id}`;
}
