/** What a run knows to be secret: the key it was given and the session keys it learns on the way. */
import { createRedactor, type Redactor } from '../../text/redact.ts';

export interface Redaction {
  add(secret: string | null | undefined): void;
  text(text: string): string;
  /** What must stay as it is but for the secrets this run knows. */
  known(text: string): string;
  value<T>(value: T): T;
}

export function createRedaction(first: readonly (string | null)[]): Redaction {
  const secrets = new Set<string>();
  let redactor: Redactor | null = null;
  const add = (secret: string | null | undefined): void => {
    if (secret === null || secret === undefined || secret === '' || secrets.has(secret)) return;
    secrets.add(secret);
    redactor = null;
  };
  for (const secret of first) add(secret);
  const current = (): Redactor => (redactor ??= createRedactor([...secrets]));
  return {
    add,
    text: (text) => current().text(text),
    known: (text) => current().known(text),
    value: <T>(value: T) => current().value(value) as T,
  };
}
