/**
 * Removes secrets from everything that is printed, logged or stored for people. Two methods: known secrets (a profile's
 * key, a sandbox's session key) in each encoding; and general rules by name and by the well-known forms of tokens. A
 * replaced secret is always `<redacted>`, so that its length is not disclosed.
 */
import { redactPatterns } from './redact-patterns.ts';
import { memberRedaction } from './redact-members.ts';
import { REDACTED } from './secret-names.ts';

/** A secret this short would be found inside ordinary words; only names protect it. */
const SHORTEST_SEARCHED = 6;

export interface Redactor {
  /** Any text: a log line, a message of a server, the output of a command. */
  text(text: string): string;
  /** Text whose every other byte counts: the known secrets only, no rules. */
  known(text: string): string;
  /** A JSON value: a copy in which secret members and all strings are redacted. */
  value(value: unknown): unknown;
  /** A URL: no user information, no secret parameters; the rest as it was. */
  url(url: string): string;
}

/**
 * @param secrets known secrets, as they are sent; empty ones are ignored, surrounding blanks do not matter
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const known = knownPattern(secrets);
  const withoutKnown = (input: string): string =>
    known === null || input.length < known.least || !known.first.test(input)
      ? input
      : input.replace(known.all, REDACTED);
  const text = (input: string): string => redactPatterns(withoutKnown(input));
  return {
    text,
    known: withoutKnown,
    value: memberRedaction(text),
    url: text,
  };
}

/** `first` finds one, `all` are replaced; no text shorter than `least` can hold one. */
function knownPattern(secrets: readonly string[]): { first: RegExp; all: RegExp; least: number } | null {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const trimmed = secret.trim();
    if (trimmed.length < SHORTEST_SEARCHED) continue;
    for (const form of writtenForms(trimmed)) forms.add(form);
  }
  if (forms.size === 0) return null;
  // The longest first: an escaped form may contain the plain one.
  const source = [...forms]
    .sort((a, b) => b.length - a.length)
    .map(literally)
    .join('|');
  const least = Math.min(...[...forms].map((form) => form.length));
  return { first: new RegExp(source), all: new RegExp(source, 'g'), least };
}

/** How one secret may look: plain, inside JSON (also JSON in JSON), inside a URL, in a Basic header. */
function writtenForms(secret: string): string[] {
  // A URL cannot hold a lone surrogate.
  const wellFormed = Buffer.from(secret, 'utf8').toString('utf8');
  const json = JSON.stringify(secret).slice(1, -1);
  const percent = encodeURIComponent(wellFormed);
  return [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    percent.replaceAll('%20', '+'),
    encodeURI(wellFormed),
    Buffer.from(secret, 'utf8').toString('base64'),
    Buffer.from(secret, 'utf8').toString('base64url'),
  ].filter((form) => form.length >= SHORTEST_SEARCHED);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
