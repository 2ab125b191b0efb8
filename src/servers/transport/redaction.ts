/** What a connection knows to be secret: the secrets of the command, and the session keys learned on the way. */
import { createRedactor, type Redactor } from '../../text/redact.ts';
import { createSecretKeeper, type SecretKeeper } from '../../text/secret-keeper.ts';

export interface Redaction {
  add(secret: string | null | undefined): void;
  text(text: string): string;
  /** What must stay as it is but for the secrets this run knows. */
  known(text: string): string;
  /** A redacted copy, marked at the keeper: output does not redact it a second time. It must not be changed. */
  value<T>(value: T): T;
}

/** @param keeper of the command; its secrets are redacted too, also those that it learns later */
export function createRedaction(
  first: readonly (string | null)[],
  keeper: SecretKeeper = createSecretKeeper([]),
): Redaction {
  const secrets = new Set<string>();
  let made: { redactor: Redactor; kept: number } | null = null;
  const add = (secret: string | null | undefined): void => {
    if (secret === null || secret === undefined || secret === '' || secrets.has(secret)) return;
    secrets.add(secret);
    made = null;
  };
  for (const secret of first) add(secret);
  const current = (): Redactor => {
    const kept = keeper.secrets.size;
    if (made?.kept !== kept) made = { redactor: createRedactor([...new Set([...secrets, ...keeper.secrets])]), kept };
    return made.redactor;
  };
  return {
    add,
    text: (text) => current().text(text),
    known: (text) => current().known(text),
    value<T>(value: T): T {
      const redacted = current().value(value) as T;
      keeper.markRedacted(redacted);
      return redacted;
    },
  };
}
