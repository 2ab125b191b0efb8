const SHORTEST = 8;
const LONGEST_WORDS = 15;
/** Matches `EMPTY`, `camelCase`, `LiteLLM` too; few random letters have this form. */
const WORD = /^\p{Ll}?(?:\p{Lu}*\p{Ll}{2,})*\p{Lu}*$/u;

/** False for a value like ordinary words and numbers, which is not replaced in free text. */
export function isMaskable(value: string): boolean {
  const text = value.trim();
  if (text.length < SHORTEST || text.length > LONGEST_WORDS) return text.length >= SHORTEST;
  const parts = text.split(/[ ._/:-]/);
  return !parts.every((part) => WORD.test(part)) && !parts.every((part) => /^\d*$/.test(part));
}

/** Returns the values that can be masked, the longest first: a value may contain another one. */
export function formsOf(secrets: readonly string[]): string[] {
  const parts = secrets.flatMap((secret) => {
    const lines = secret.trim().split(/\r?\n/);
    // A diff has a sign before each line.
    return [lines.join('\n'), lines.join('\r\n'), ...lines].filter(isMaskable);
  });
  return [...new Set(parts.flatMap(writtenForms))].sort((a, b) => b.length - a.length);
}

/** Plain, inside JSON (also JSON in JSON), inside a URL, in a Basic header. */
function writtenForms(secret: string): string[] {
  // A URL cannot hold a lone surrogate.
  const bytes = Buffer.from(secret);
  const wellFormed = bytes.toString();
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
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
}
