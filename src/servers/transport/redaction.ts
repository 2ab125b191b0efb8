/** The secrets of a connection: those of the command, and the session keys in its answers. */
import { createRedactor, type Redactor } from '../../text/redact.ts';
import { createSecretKeeper, type SecretKeeper } from '../../text/secret-keeper.ts';

export interface Redaction {
  add(secret: string | null | undefined): void;
  text(text: string): string;
  /** For data that is kept unchanged except the known secrets. */
  known(text: string): string;
  /** A redacted copy, marked at the keeper: output does not redact it a second time. It must not be changed. */
  value<T>(value: T): T;
  /** The same without the mark, for a part of a record that is marked as a whole. */
  part<T>(value: T): T;
  /**
   * Marks a record whose parts were redacted; it must not be changed.
   * @param texts those that were not redacted: the record is marked only when none of them holds a secret
   */
  mark<T extends object>(record: T, texts: readonly string[]): T;
}

/** @param keeper of the command; its secrets are redacted, too, also those that are added later */
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
    part: (value) => current().value(value) as typeof value,
    mark(record, texts) {
      if (texts.every((text) => current().text(text) === text)) keeper.markRedacted(record);
      return record;
    },
  };
}
