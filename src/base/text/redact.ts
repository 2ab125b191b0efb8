/** A replaced secret is always `<redacted>`: its length is not disclosed. */
import {
  REDACTED,
  canonicalName,
  isMcpName,
  isSecretMap,
  isSecretName,
  lastWords,
  type NameKind,
} from './secret-names.ts';
import { formsOf } from './secret-values.ts';
/** Every expression is bounded or linear: the text comes from servers and agents. */

const R = REDACTED;
/**
 * From the first backslash on, so that a run of them is looked at once; a string within seven
 * others has 127.
 */
const ESCAPED_QUOTE = '(?<!\\\\)\\\\{1,127}["\']';

/**
 * Where a word begins; a line may begin behind its escape, in JSON inside a JSON string. Slow
 * before a literal.
 */
const WORD = String.raw`(?:\b|(?<=\\[nrt]))`;
/** The same for forms of tokens, which are no part of `disk-usage-sk-learn`. */
const TOKEN = String.raw`(?:(?<![\w-])|(?<=\\[nrt]))`;

const NEAR_NAMES = new RegExp(`${lastWords()}(?:[=\\s"'\\\\]|%3d)`);
const name = (kind: NameKind): string => `[\\w.-]{0,64}?${lastWords(kind)}`;

const named =
  (kind: NameKind) =>
  (match: string, before = '', found = '', between = ''): string =>
    isSecretName(found, kind) ? `${before}${found}${between}${R}` : match;

/** `near` is looked for first, in lower case. */
export const RULES: readonly {
  near: RegExp;
  pattern: RegExp;
  replacement: string | ((match: string, ...groups: string[]) => string);
}[] = [
  {
    near: /private key-----/,
    pattern:
      /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    replacement: `$1${R}$2`,
  },
  {
    // `git@` alone names no secret and is part of every ssh address.
    near: /:\/\//,
    pattern: /:\/\/(?!git@)[^\s/?#"'<>\\]{1,2048}@/g,
    replacement: `://${R}@`,
  },
  {
    near: NEAR_NAMES,
    pattern: new RegExp(
      `([?&;#]|\\\\u0026|%3F|%26)(${name('query')})(=|%3D)(?:(?!%26)[^&\\s"'<>\\\\;#])+`,
      'gi',
    ),
    replacement: named('query'),
  },
  {
    near: NEAR_NAMES,
    pattern: new RegExp(`(")(${name('member')})("\\s{0,8}:\\s{0,8}")(?:[^"\\\\]|\\\\.)+`, 'gi'),
    replacement: named('member'),
  },
  {
    // A member of JSON inside a JSON string, or of a Python dictionary.
    near: NEAR_NAMES,
    pattern: new RegExp(
      `((${ESCAPED_QUOTE}|'))(${name('member')})\\2\\s{0,8}:\\s{0,8}(${ESCAPED_QUOTE}|')(?!\\4)[\\s\\S]{1,8192}?(?:(?<!\\\\)\\4|$)`,
      'gi',
    ),
    replacement: (match, quote = '', _same = '', found = '', inner = '') =>
      isSecretName(found, 'member') ? `${quote}${found}${quote}: ${inner}${R}${inner}` : match,
  },
  {
    near: /authorization/,
    pattern:
      /(authorization["']?\s{0,4}[:=]\s{0,4}["']?)(?:(?:Bearer|Basic|Token|Digest)\s{1,4}[^\s"',;\\]+|(?=[^\s"',;\\]*\d)[^\s"',;\\]{8,})/gi,
    replacement: `$1${R}`,
  },
  {
    near: /bearer/,
    pattern: new RegExp(
      String.raw`(Bearer(?<=${WORD}Bearer)\s{1,4})(?=[\w.~+/=-]*\d)[\w.~+/-]{12,}=*`,
      'gi',
    ),
    replacement: `$1${R}`,
  },
  {
    near: /x-|private-/,
    pattern: new RegExp(
      `()((?:x|private)-(?<=${WORD}(?:x|private)-)[\\w-]{0,64}?${lastWords('header')})(["']?\\s{0,4}[:=]\\s{0,4}["']?)[^\\s"',;<\\\\][^\\s"',\\\\]*`,
      'gi',
    ),
    replacement: named('header'),
  },
  {
    // A header has several cookies, each of which may be the secret one.
    near: /cookie/,
    pattern: new RegExp(
      String.raw`(cookie:(?<=${WORD}cookie:)\s{0,4})[^\s"'<\\][^"'\\\r\n]*`,
      'gi',
    ),
    replacement: `$1${R}`,
  },
  {
    // Environment variables as `env` and shell lines write them; a reference such as $NAME is not a
    // secret.
    near: NEAR_NAMES,
    pattern: new RegExp(
      `(?=[A-Z])${WORD}()([A-Z0-9_]{0,81}?${lastWords('variable').toUpperCase()})(=)("(?!\\$)[^"\\n]+"|'[^'\\n]+'|[^\\s"'\`$<>&;|)\\\\][^\\s"'\`&;|)\\\\]*)`,
      'g',
    ),
    replacement: named('variable'),
  },
  {
    near: NEAR_NAMES,
    pattern: new RegExp(
      `((?:\\s|^|\\\\[nrt])[+-]?--?)(${name('argument')})(=|\\s{1,4})(?![-<$])("[^"\\n]+"|'[^'\\n]+'|(?=[^\\s"']*\\d)[^\\s"']{6,})`,
      'gi',
    ),
    replacement: (match, before = '', found = '', between = '', value = '') =>
      isSecretArgument(found, value) ? `${before}${found}${between}${R}` : match,
  },
  {
    near: /gh[pousr]_|github_pat_|glpat-|sk-|xox|aiza|npm_|hf_/,
    pattern: new RegExp(
      String.raw`(?=g[hil]|sk-|xox|AIza|npm_|hf_)${TOKEN}(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-(?=[\w-]*\d)[\w-]{16,}|xox[abeoprs]-(?=[\w-]*\d)[\w-]{10,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,})`,
      'g',
    ),
    replacement: R,
  },
  {
    near: /eyj/,
    pattern: new RegExp(String.raw`eyJ(?<=${TOKEN}eyJ)[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`, 'g'),
    replacement: R,
  },
];

const ANY_NEAR = new RegExp([...new Set(RULES.map(({ near }) => near.source))].join('|'));

export function redactPatterns(text: string): string {
  const lower = text.toLowerCase();
  if (!ANY_NEAR.test(lower)) return text;
  let result = text;
  for (const { near, pattern, replacement } of RULES) {
    if (near.test(lower))
      result = result.replace(
        pattern,
        replacement as (match: string, ...groups: string[]) => string,
      );
  }
  return result;
}

// `--token VALUE`, `--api-key=VALUE`, `GITHUB_TOKEN=VALUE`, `X-Api-Key: VALUE`.

const FLAG = /^--?([\w.-]{1,100})(=[\s\S]+)?$/;
const ASSIGNMENT = /^([\w.-]{1,100})=[\s\S]+$/;
const HEADER = /^([\w-]{1,100}):\s*[\s\S]+$/;

/**
 * Null where a value holds no secret of an argument. Values that are not text are never arguments.
 */
export function shownArguments(values: readonly unknown[]): (string | null)[] {
  let isValueNext = false;
  return values.map((value) => {
    if (typeof value !== 'string') {
      isValueNext = false;
      return null;
    }
    if (isValueNext) {
      isValueNext = false;
      return REDACTED;
    }
    const [, name = '', given] = FLAG.exec(value) ?? [];
    const isSecret = name !== '' && isSecretArgument(name, given?.slice(1));
    isValueNext = isSecret && given === undefined;
    if (name !== '')
      return isSecret && given !== undefined
        ? `${value.slice(0, -given.length)}=${REDACTED}`
        : null;
    return hidden(value, 'variable', ASSIGNMENT, '=') ?? hidden(value, 'header', HEADER, ': ');
  });
}

/** `value` undefined: it is the next argument. */
function isSecretArgument(name: string, value: string | undefined): boolean {
  // `--input-tokens=4096` is a count.
  if (/tokens$/i.test(name) && (value === undefined || /^\d+$/.test(value))) return false;
  return isSecretName(name, 'argument');
}

function hidden(value: string, kind: NameKind, form: RegExp, between: string): string | null {
  const name = form.exec(value)?.[1];
  return name !== undefined && isSecretName(name, kind) ? `${name}${between}${REDACTED}` : null;
}

export interface Redactor {
  text(text: string): string;
  /** The known secrets only, for text whose every other byte counts. */
  known(text: string): string;
  value(value: unknown): unknown;
}

/** Secrets that are not maskable are ignored, surrounding blanks do not matter. */
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
  };
}

/** No text shorter than `least` can hold a secret. */
function knownPattern(
  secrets: readonly string[],
): { first: RegExp; all: RegExp; least: number } | null {
  const forms = formsOf(secrets);
  if (forms.length === 0) return null;
  const source = forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');
  const least = Math.min(...forms.map((form) => form.length));
  return { first: new RegExp(source), all: new RegExp(source, 'g'), least };
}

export interface SecretKeeper {
  readonly secrets: ReadonlySet<string>;
  /** False: it was kept before. */
  keep(secret: string): boolean;
  text(text: string): string;
  /** The value must not be changed afterwards. */
  markRedacted(value: unknown): void;
  /** False again once a further secret is kept: the value may hold it. */
  isRedacted(value: object): boolean;
}

export function createSecretKeeper(known: readonly string[]): SecretKeeper {
  const secrets = new Set<string>(known);
  let redactor = createRedactor(known);
  const marks = new WeakMap<object, number>();
  return {
    secrets,
    keep(secret) {
      if (secrets.has(secret)) return false;
      secrets.add(secret);
      redactor = createRedactor([...secrets]);
      return true;
    },
    text: (text) => redactor.text(text),
    markRedacted(value) {
      if (typeof value === 'object' && value !== null) marks.set(value, secrets.size);
    },
    isRedacted: (value) => marks.get(value) === secrets.size,
  };
}

/**
 * Deeper than any document of the interface; what is below is dropped instead of overflowing the
 * stack.
 */
const DEEPEST = 200;

/** Members that only describe a secret and stay readable in an entry of a map of secrets. */
const DESCRIBING = new Set([
  'name',
  'kind',
  'type',
  'description',
  'host',
  'id',
  'user_id',
  'provider',
  'key_name',
]);

/** Names that a document invents are not kept for ever. */
const MOST_NAMES = 2000;
const LONGEST_NAME = 100;

type MemberKind = 'member' | 'mcp' | 'header';

/** `map`: every value is a secret. `entry`: every text is one that does not describe it. */
type Inside = 'open' | 'map' | 'entry';

interface Name {
  shown: string;
  isSecret: boolean;
  isSecretMap: boolean;
  isDescribing: boolean;
  below: MemberKind;
}

/** Where the members of a value are. */
function insideOf(value: object, { isSecretMap }: Name, inside: Inside): Inside {
  // Counts of tokens are figures, not secrets. In a map of secrets the name of one shows nothing
  // about its entry.
  if (Object.values(value).every((member) => member === null || typeof member === 'number'))
    return 'open';
  if (inside === 'map' && !Array.isArray(value)) return 'entry';
  return isSecretMap ? 'map' : inside;
}

/** `text` is applied to each name, and to each string that is not replaced as a whole. */
export function memberRedaction(text: (text: string) => string): (value: unknown) => unknown {
  const names = {
    member: new Map<string, Name>(),
    mcp: new Map<string, Name>(),
    header: new Map<string, Name>(),
  };

  const nameOf = (name: string, kind: MemberKind): Name => {
    const known = names[kind].get(name);
    if (known !== undefined) return known;
    const canonical = canonicalName(name);
    let below: MemberKind = canonical === 'headers' ? 'header' : kind;
    if (kind === 'mcp' || isMcpName(name)) below = 'mcp';
    const fresh: Name = {
      shown: text(name),
      isSecret: isSecretName(name, kind),
      isSecretMap: isSecretMap(name, below) || isSecretName(name, below),
      isDescribing: DESCRIBING.has(canonical),
      below,
    };
    if (name.length <= LONGEST_NAME && names[kind].size < MOST_NAMES) names[kind].set(name, fresh);
    return fresh;
  };

  const redact = (value: unknown, name: Name, inside: Inside, depth: number): unknown => {
    if (typeof value === 'string') {
      const isHidden = { map: true, entry: !name.isDescribing, open: name.isSecret }[inside];
      return isHidden && value !== '' ? REDACTED : text(value);
    }
    if (typeof value === 'number') return inside === 'map' ? REDACTED : value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return REDACTED;
    const next = insideOf(value, name, inside);
    return Array.isArray(value)
      ? redactItems(value, name.below, next, depth + 1)
      : redactMembers(value, name.below, next, depth + 1);
  };

  const redactItems = (
    items: readonly unknown[],
    kind: MemberKind,
    inside: Inside,
    depth: number,
  ): unknown => {
    // Perhaps arguments of a command: the word after `--api-key` is a secret too.
    const shown = items.some((item) => typeof item === 'string') ? shownArguments(items) : [];
    const unnamed = nameOf('', kind);
    const redacted = items.map((item, index) => {
      const own = redact(item, unnamed, inside, depth);
      return own === REDACTED ? own : (shown[index] ?? own);
    });
    return redacted.some((item, index) => item !== items[index]) ? redacted : items;
  };

  const redactMembers = (
    value: object,
    kind: MemberKind,
    inside: Inside,
    depth: number,
  ): unknown => {
    let isChanged = false;
    const members = Object.entries(value).map(([key, inner]: [string, unknown]) => {
      const member = nameOf(key, kind);
      const redacted = redact(inner, member, inside, depth);
      isChanged ||= redacted !== inner || member.shown !== key;
      return [member.shown, redacted];
    });
    return isChanged ? Object.fromEntries(members) : value;
  };

  return (value) => redact(value, nameOf('', 'member'), 'open', 0);
}
