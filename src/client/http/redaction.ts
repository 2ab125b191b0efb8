import {
  createRedactor,
  createSecretKeeper,
  type Redactor,
  type SecretKeeper,
} from '../../base/text/redact.ts';

export class Redaction {
  readonly #secrets = new Set<string>();
  readonly #keeper: SecretKeeper;
  #made: { redactor: Redactor; kept: number } | null = null;

  constructor(secrets: readonly (string | null)[], keeper: SecretKeeper = createSecretKeeper([])) {
    this.#keeper = keeper;
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string | null | undefined): void {
    if (!secret || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.#made = null;
  }

  text(text: string): string {
    return this.#redactor.text(text);
  }

  /** For data that stays unchanged except the known secrets. */
  known(text: string): string {
    return this.#redactor.known(text);
  }

  value<T>(value: T): T {
    const redacted = this.part(value);
    this.#keeper.markRedacted(redacted);
    return redacted;
  }

  part<T>(value: T): T {
    return this.#redactor.value(value) as T;
  }

  /** Marks a record of redacted parts, unless one of the unredacted `texts` has a secret. */
  mark<T extends object>(record: T, texts: readonly string[]): T {
    if (texts.every((text) => this.text(text) === text)) this.#keeper.markRedacted(record);
    return record;
  }

  get #redactor(): Redactor {
    const kept = this.#keeper.secrets.size;
    if (this.#made?.kept !== kept) {
      this.#made = { redactor: createRedactor([...this.#secrets, ...this.#keeper.secrets]), kept };
    }
    return this.#made.redactor;
  }
}
