/** What an adapter works with: the app server, the agent servers it points to, and the environment of the command. */
import { AppError } from '../errors.ts';
import { isShapeError } from '../protocol/shape.ts';
import type { KnownFeatures } from './features.ts';
import type { Answer } from './transport/answer.ts';
import type { Network } from './transport/network.ts';
import type { Transport } from './transport/transport.ts';
import type { Clock } from '../clock.ts';

/** What a conversation was started on. */
export interface StartedFrom {
  repository: string;
  branch: string | null;
  git_provider: string | null;
}

/** What start tasks have shown in this run. It does not change. */
export interface StartMemory {
  /** By the id of the conversation; null: nothing. */
  known: Map<string, StartedFrom | null>;
  /** How many were requested one by one. */
  missed: number;
}

export interface Links {
  app: Transport;
  /** A transport to the agent server at this base URL with the key of its sandbox. */
  agent(baseUrl: string, key: string | null): Transport;
  network: Network;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  notice(text: string): void;
  randomId(): string;
  starts: StartMemory;
  features: KnownFeatures;
}

/** Reads an answer with a reader of src/protocol; a wrong shape becomes AppError `server`. */
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
  return (id) => (features.of('web-interface') === 'absent' ? null : `${app.baseUrl}/conversations/${id}`);
}
