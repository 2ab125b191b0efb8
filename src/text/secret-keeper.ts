/** The secrets of one command, first the keys that it read, and the values that were redacted with all of them. */
import { createRedactor } from './redact.ts';

export interface SecretKeeper {
  /** Every secret that was kept; none is ever dropped. */
  readonly secrets: ReadonlySet<string>;
  keep(secret: string): void;
  text(text: string): string;
  /** Records that the value was redacted with all secrets kept so far; it must not be changed afterwards. */
  markRedacted(value: unknown): void;
  /** False again once a further secret is kept: the value may hold it. */
  isRedacted(value: object): boolean;
}

export function createSecretKeeper(known: readonly string[]): SecretKeeper {
  const secrets = new Set<string>(known);
  let redactor = createRedactor(known);
  /** The number of secrets that the value was redacted with. */
  const marks = new WeakMap<object, number>();
  return {
    secrets,
    keep(secret) {
      if (secrets.has(secret)) return;
      secrets.add(secret);
      redactor = createRedactor([...secrets]);
    },
    text: (text) => redactor.text(text),
    markRedacted(value) {
      if (typeof value === 'object' && value !== null) marks.set(value, secrets.size);
    },
    isRedacted: (value) => marks.get(value) === secrets.size,
  };
}
