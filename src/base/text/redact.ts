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

// Every expression is bounded or linear: the text comes from servers and agents.

const R = REDACTED;
/** A run of backslashes is matched from its first one; a string within seven others has 127. */
const ESCAPED_QUOTE = '(?<!\\\\)\\\\{1,127}["\']';

/** Where a word begins; a line in JSON may begin behind its escape. Slow before a literal. */
const WORD = String.raw`(?:\b|(?<=\\[nrt]))`;
/** The same for forms of tokens, which are no part of `disk-usage-sk-learn`. */
const TOKEN = String.raw`(?:(?<![\w-])|(?<=\\[nrt]))`;

const NEAR_NAMES = new RegExp(`${lastWords()}(?:[=\\s"'\\\\]|%3d)`);
const name = (kind: NameKind): string => `[\\w.-]{0,64}?${lastWords(kind)}`;

const named =
  (kind: NameKind) =>
  (match: string, before = '', found = '', between = ''): string =>
    isSecretName(found, kind) ? `${before}${found}${between}${R}` : match;

type Replace = (match: string, ...groups: string[]) => string;

/** `pattern` applies only to a text whose lower case has `near`. */
export const RULES: readonly { near: RegExp; pattern: RegExp; replacement: string | Replace }[] = [
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
      `((${ESCAPED_QUOTE}|'))(${name('member')})\\2\\s{0,8}:\\s{0,8}(${ESCAPED_QUOTE}|')` +
        '(?!\\4)[\\s\\S]{1,8192}?(?:(?<!\\\\)\\4|$)',
      'gi',
    ),
    replacement: (match, quote = '', _same = '', found = '', inner = '') =>
      isSecretName(found, 'member') ? `${quote}${found}${quote}: ${inner}${R}${inner}` : match,
  },
  {
    near: /authorization/,
    pattern: new RegExp(
      String.raw`(authorization["']?\s{0,4}[:=]\s{0,4}["']?)` +
        String.raw`(?:(?:Bearer|Basic|Token|Digest)\s{1,4}[^\s"',;\\]+` +
        String.raw`|(?=[^\s"',;\\]*\d)[^\s"',;\\]{8,})`,
      'gi',
    ),
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
      `()((?:x|private)-(?<=${WORD}(?:x|private)-)[\\w-]{0,64}?${lastWords('header')})` +
        String.raw`(["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;<\\][^\s"',\\]*`,
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
    // Variables as `env` and shell lines write them; a reference such as $NAME is no secret.
    near: NEAR_NAMES,
    pattern: new RegExp(
      `(?=[A-Z])${WORD}()([A-Z0-9_]{0,81}?${lastWords('variable').toUpperCase()})(=)` +
        '("(?!\\$)[^"\\n]+"|\'[^\'\\n]+\'|[^\\s"\'`$<>&;|)\\\\][^\\s"\'`&;|)\\\\]*)',
      'g',
    ),
    replacement: named('variable'),
  },
  {
    near: NEAR_NAMES,
    pattern: new RegExp(
      `((?:\\s|^|\\\\[nrt])[+-]?--?)(${name('argument')})(=|\\s{1,4})(?![-<$])` +
        String.raw`("[^"\n]+"|'[^'\n]+'|(?=[^\s"']*\d)[^\s"']{6,})`,
      'gi',
    ),
    replacement: (match, before = '', found = '', between = '', value = '') =>
      isSecretArgument(found, value) ? `${before}${found}${between}${R}` : match,
  },
  {
    near: /gh[pousr]_|github_pat_|glpat-|sk-|xox|aiza|npm_|hf_/,
    pattern: new RegExp(
      `(?=g[hil]|sk-|xox|AIza|npm_|hf_)${TOKEN}(?:` +
        String.raw`gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|` +
        String.raw`sk-(?=[\w-]*\d)[\w-]{16,}|xox[abeoprs]-(?=[\w-]*\d)[\w-]{10,}|` +
        'AIza[\\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,})',
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
  return RULES.filter(({ near }) => near.test(lower)).reduce(
    (result, { pattern, replacement }) => result.replace(pattern, replacement as Replace),
    text,
  );
}

// `--token VALUE`, `--api-key=VALUE`, `GITHUB_TOKEN=VALUE`, `X-Api-Key: VALUE`.

const FLAG = /^--?([\w.-]{1,100})(=[\s\S]+)?$/;
const ASSIGNMENT = /^([\w.-]{1,100})=[\s\S]+$/;
const HEADER = /^([\w-]{1,100}):\s*[\s\S]+$/;

/** Null where a value holds no secret of an argument, as what is not text. */
export function shownArguments(values: readonly unknown[]): (string | null)[] {
  let isSecretNext = false;
  return values.map((value) => {
    const isSecret = isSecretNext;
    isSecretNext = false;
    if (typeof value !== 'string') return null;
    if (isSecret) return REDACTED;
    const [, name, assigned] = FLAG.exec(value) ?? [];
    if (name === undefined)
      return hidden(value, 'variable', ASSIGNMENT, '=') ?? hidden(value, 'header', HEADER, ': ');
    if (!isSecretArgument(name, assigned?.slice(1))) return null;
    isSecretNext = assigned === undefined;
    return assigned === undefined ? null : `${value.slice(0, -assigned.length)}=${REDACTED}`;
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

export type Redactor = ReturnType<typeof createRedactor>;

/**
 * Secrets that are not maskable are ignored, surrounding blanks do not matter. `known`: these
 * secrets only, for text whose every other byte counts.
 */
export function createRedactor(secrets: readonly string[]) {
  const known = replaceKnown(secrets);
  const text = (input: string): string => redactPatterns(known(input));
  return { text, known, value: memberRedaction(text) };
}

function replaceKnown(secrets: readonly string[]): (text: string) => string {
  const forms = formsOf(secrets);
  if (forms.length === 0) return (text) => text;
  const source = forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');
  const least = Math.min(...forms.map((form) => form.length));
  // Most texts have no secret: a test is four times as fast as a replacement.
  const [first, all] = [new RegExp(source), new RegExp(source, 'g')];
  return (text) => (text.length < least || !first.test(text) ? text : text.replace(all, REDACTED));
}

export interface SecretKeeper {
  readonly secrets: ReadonlySet<string>;
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

/** Deeper than any document of the interface; what is below is dropped. */
const DEEPEST = 200;

/** Members that only describe a secret and stay readable in an entry of a map of secrets. */
// prettier-ignore
const DESCRIBING = new Set([
  'name', 'kind', 'type', 'description', 'host', 'id', 'user_id', 'provider', 'key_name',
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

/** `text` is applied to each name, and to each string that is not replaced as a whole. */
export function memberRedaction(text: (text: string) => string): (value: unknown) => unknown {
  const redaction = new MemberRedaction(text);
  return (value) => redaction.redact(value, redaction.nameOf('', 'member'), 'open', 0);
}

class MemberRedaction {
  private readonly text: (text: string) => string;
  private readonly names = {
    member: new Map<string, Name>(),
    mcp: new Map<string, Name>(),
    header: new Map<string, Name>(),
  };

  constructor(text: (text: string) => string) {
    this.text = text;
  }

  nameOf(name: string, kind: MemberKind): Name {
    const names = this.names[kind];
    const known = names.get(name);
    if (known !== undefined) return known;
    const canonical = canonicalName(name);
    let below: MemberKind = canonical === 'headers' ? 'header' : kind;
    if (kind === 'mcp' || isMcpName(name)) below = 'mcp';
    const fresh: Name = {
      shown: this.text(name),
      isSecret: isSecretName(name, kind),
      isSecretMap: isSecretMap(name, below) || isSecretName(name, below),
      isDescribing: DESCRIBING.has(canonical),
      below,
    };
    if (name.length <= LONGEST_NAME && names.size < MOST_NAMES) names.set(name, fresh);
    return fresh;
  }

  /** Returns the value itself where nothing is redacted. */
  redact(value: unknown, name: Name, inside: Inside, depth: number): unknown {
    if (typeof value === 'string') {
      const isHidden = { map: true, entry: !name.isDescribing, open: name.isSecret }[inside];
      return isHidden && value !== '' ? REDACTED : this.text(value);
    }
    if (typeof value === 'number') return inside === 'map' ? REDACTED : value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return REDACTED;
    const next = insideOf(value, name, inside);
    return Array.isArray(value)
      ? this.items(value, name.below, next, depth + 1)
      : this.members(value, name.below, next, depth + 1);
  }

  private items(
    items: readonly unknown[],
    kind: MemberKind,
    inside: Inside,
    depth: number,
  ): unknown {
    // Perhaps arguments of a command: the word after `--api-key` is a secret too.
    const shown = items.some((item) => typeof item === 'string') ? shownArguments(items) : [];
    const unnamed = this.nameOf('', kind);
    const redacted = items.map((item, index) => {
      const own = this.redact(item, unnamed, inside, depth);
      return own === REDACTED ? own : (shown[index] ?? own);
    });
    return redacted.some((item, index) => item !== items[index]) ? redacted : items;
  }

  private members(value: object, kind: MemberKind, inside: Inside, depth: number): unknown {
    let isChanged = false;
    const members = Object.entries(value).map(([key, inner]: [string, unknown]) => {
      const name = this.nameOf(key, kind);
      const redacted = this.redact(inner, name, inside, depth);
      isChanged ||= redacted !== inner || name.shown !== key;
      return [name.shown, redacted];
    });
    return isChanged ? Object.fromEntries(members) : value;
  }
}

function insideOf(value: object, { isSecretMap }: Name, inside: Inside): Inside {
  // Counts of tokens are figures, not secrets.
  if (Object.values(value).every((member) => member === null || typeof member === 'number'))
    return 'open';
  if (inside === 'map' && !Array.isArray(value)) return 'entry';
  return isSecretMap ? 'map' : inside;
}
