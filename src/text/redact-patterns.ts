/**
 * Finds secrets in any text by their context or their form. Every expression is bounded or linear: the text comes from
 * servers and agents.
 */
import { REDACTED, SECRET_NAME_IN_TEXT } from './secret-names.ts';

interface Rule {
  /** Looked for first, in lower case: most text has none of it and is not searched further. */
  near: readonly string[];
  pattern: RegExp;
  replacement: string | ((match: string, ...groups: string[]) => string);
}

const R = REDACTED;
const NAME = SECRET_NAME_IN_TEXT;
const NEAR_NAMES = ['key', 'secret', 'passw', 'passphrase', 'token', 'tkn', 'auth'] as const;
/** From the first backslash on, so that a run of them is looked at once; a string within seven others has 127. */
const ESCAPED_QUOTE = '(?<!\\\\)\\\\{1,127}["\']';
const CURSOR = /page[_-]?token$|continuation[_-]?token$|next[_-]?token$/i;

const keepCursors =
  (replaced: (name: string, groups: readonly string[]) => string) =>
  (match: string, ...groups: string[]): string =>
    CURSOR.test(groups[1] ?? '') ? match : replaced(groups[1] ?? '', groups);

/** In the order in which they are applied. */
export const RULES: readonly Rule[] = [
  {
    near: ['private key-----'],
    pattern: /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    replacement: `$1${R}$2`,
  },
  {
    // `git@` alone names no secret and is part of every ssh address.
    near: ['://'],
    pattern: /:\/\/(?!git@)[^\s/?#"'<>\\]{1,2048}@/g,
    replacement: `://${R}@`,
  },
  {
    near: NEAR_NAMES,
    pattern: new RegExp(
      `([?&;#]|\\\\u0026|%3F|%26)(${NAME}|sig|signature|x-amz-[\\w-]{1,40})(=|%3D)(?:(?!%26)[^&\\s"'<>\\\\;#])+`,
      'gi',
    ),
    replacement: keepCursors((name, [before = '', , equals = '']) => `${before}${name}${equals}${R}`),
  },
  {
    near: ['sig'],
    pattern: /([?&])(sig|signature|x-amz-signature)=[^&\s"'<>\\]+/gi,
    replacement: `$1$2=${R}`,
  },
  {
    // A member of JSON.
    near: NEAR_NAMES,
    pattern: new RegExp(`(")(${NAME}s?)("\\s{0,8}:\\s{0,8}")((?:[^"\\\\]|\\\\.)+)`, 'gi'),
    replacement: keepCursors((name, [quote = '', , between = '']) => `${quote}${name}${between}${R}`),
  },
  {
    // A member of JSON inside a JSON string, or of a Python dictionary.
    near: NEAR_NAMES,
    pattern: new RegExp(
      `((${ESCAPED_QUOTE}|'))(${NAME}s?)\\2\\s{0,8}:\\s{0,8}(${ESCAPED_QUOTE}|')(?!\\4)[\\s\\S]{1,8192}?(?:(?<!\\\\)\\4|$)`,
      'gi',
    ),
    replacement: (match, quote = '', _same = '', name = '', inner = '') =>
      CURSOR.test(name) ? match : `${quote}${name}${quote}: ${inner}${R}${inner}`,
  },
  {
    near: ['authorization'],
    pattern:
      /(authorization["']?\s{0,4}[:=]\s{0,4}["']?)(?:(?:Bearer|Basic|Token|Digest)\s{1,4}[^\s"',;\\]+|(?=[^\s"',;\\]*\d)[^\s"',;\\]{8,})/gi,
    replacement: `$1${R}`,
  },
  {
    near: ['bearer'],
    pattern: /\b(Bearer\s{1,4})(?=[\w.~+/=-]*\d)[\w.~+/-]{12,}=*/gi,
    replacement: `$1${R}`,
  },
  {
    near: ['x-', 'private-token'],
    pattern:
      /\b((?:x-(?:session-)?api-key|x-access-token|x-auth-token|private-token)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;<\\][^\s"',\\]*/gi,
    replacement: `$1${R}`,
  },
  {
    // A header has several cookies, each of which may be the secret one.
    near: ['cookie'],
    pattern: /\b((?:set-)?cookie:\s{0,4})[^\s"'<\\][^"'\\\r\n]*/gi,
    replacement: `$1${R}`,
  },
  {
    // Environment variables as `env` and shell lines write them; a reference such as $NAME is not a secret.
    near: NEAR_NAMES,
    pattern:
      /\b([A-Z][A-Z0-9_]{0,80}(?:API_?KEY|SECRET|PASSWORD|PASSWD|TOKEN|_KEY|CREDENTIALS)=)("(?!\$)[^"\n]+"|'[^'\n]+'|[^\s"'`$<>&;|)\\][^\s"'`&;|)\\]*)/g,
    replacement: `$1${R}`,
  },
  {
    near: NEAR_NAMES,
    pattern:
      /(\s|^)(--?(?:[\w-]{0,40}-)?(?:api-?key|token|password|secret))(=|\s{1,4})(?![-<$])("[^"\n]+"|'[^'\n]+'|(?=[^\s"']*\d)[^\s"']{6,})/gi,
    replacement: `$1$2$3${R}`,
  },
  {
    near: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'sk-', 'xox', 'aiza', 'npm_', 'hf_'],
    pattern:
      /(?<![\w-])(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-(?=[\w-]*\d)[\w-]{16,}|xox[abeoprs]-(?=[\w-]*\d)[\w-]{10,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,})/g,
    replacement: R,
  },
  {
    near: ['eyj'],
    pattern: /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g,
    replacement: R,
  },
];

/**
 * Looked for at once in lower case: most text has none of them. In order and without the `i` flag, words that begin alike
 * are compared once, and the search takes half the time.
 */
const ANY_NEAR = new RegExp([...new Set(RULES.flatMap(({ near }) => near))].sort().join('|'));

/** The text with secrets of known places and forms replaced; a text without any is returned as it is. */
export function redactPatterns(text: string): string {
  const lower = text.toLowerCase();
  if (!ANY_NEAR.test(lower)) return text;
  let hasName: boolean | null = null; // asked by several rules
  let result = text;
  for (const { near, pattern, replacement } of RULES) {
    const isNear = near === NEAR_NAMES ? (hasName ??= has(lower, near)) : has(lower, near);
    if (!isNear) continue;
    result = result.replace(pattern, replacement as (match: string, ...groups: string[]) => string);
  }
  return result;
}

function has(lower: string, words: readonly string[]): boolean {
  return words.some((word) => lower.includes(word));
}
