/** Redacts secrets in JSON values by the names of members. Names and structure are kept: a reader sees what was set. */
import { shownArguments } from './redact-arguments.ts';
import { REDACTED, canonicalName, isMcpName, isSecretMap, isSecretName } from './secret-names.ts';

/** Deeper than any document of the interface; what is below is dropped instead of overflowing the stack. */
const DEEPEST = 200;

/** Members that only describe a secret and stay readable in an entry of a map of secrets. */
const DESCRIBING = new Set(['name', 'kind', 'type', 'description', 'host', 'id', 'user_id', 'provider', 'key_name']);

/** The same few hundred names come again with every event; what a document invents is not kept for ever. */
const MOST_NAMES = 2000;
const LONGEST_NAME = 100;

interface Place {
  depth: number;
  /** `open`: names decide · `map`: every value is a secret · `entry`: every text is one that does not describe it. */
  inside: 'open' | 'map' | 'entry';
  mcp: boolean;
}

/** What a member's name shows about its value. */
interface Name {
  /** As it is shown. */
  shown: string;
  isSecret: boolean;
  isSecretMap: boolean;
  isMcp: boolean;
  /** A credential where a server of the Model Context Protocol is described. */
  isMcpSecret: boolean;
  isMcpMap: boolean;
  isDescribing: boolean;
}

/**
 * Makes a function that redacts JSON values and does not change them.
 * @param text applied to each name, and to each string that is not replaced as a whole
 */
export function memberRedaction(text: (text: string) => string): (value: unknown) => unknown {
  const redaction = new MemberRedaction(text);
  return (value) => redaction.redact(value, redaction.nameOf(''), { depth: 0, inside: 'open', mcp: false });
}

class MemberRedaction {
  readonly #text: (text: string) => string;
  readonly #names = new Map<string, Name>();

  constructor(text: (text: string) => string) {
    this.#text = text;
  }

  /** The value itself where nothing in it is a secret. */
  redact(value: unknown, name: Name, place: Place): unknown {
    if (typeof value === 'string') return isHidden(name, value, place) ? REDACTED : this.#text(value);
    if (typeof value === 'number') return place.inside === 'map' ? REDACTED : value;
    if (typeof value !== 'object' || value === null) return value;
    if (place.depth > DEEPEST) return REDACTED;
    const below = placeBelow(name, value, place);
    return Array.isArray(value) ? this.#array(value, below) : this.#members(value as Record<string, unknown>, below);
  }

  #members(value: Record<string, unknown>, below: Place): object {
    let changed: Map<string, [string, unknown]> | null = null;
    for (const member in value) {
      const name = this.nameOf(member);
      const redacted = this.redact(value[member], name, below);
      if (redacted === value[member] && name.shown === member) continue;
      changed ??= new Map();
      changed.set(member, [name.shown, redacted]);
    }
    if (changed === null) return value;
    return Object.fromEntries(Object.entries(value).map((entry) => changed.get(entry[0]) ?? entry));
  }

  /** A list may be the arguments of a command: the word after `--api-key` is a secret too. */
  #array(values: readonly unknown[], place: Place): readonly unknown[] {
    const shown = values.some((value) => typeof value === 'string') ? shownArguments(values) : [];
    const name = this.nameOf('');
    const redacted = values.map((value, index) => {
      const own = this.redact(value, name, place);
      return own === REDACTED ? own : (shown[index] ?? own);
    });
    return redacted.some((value, index) => value !== values[index]) ? redacted : values;
  }

  nameOf(name: string): Name {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const canonical = canonicalName(name);
    const fresh: Name = {
      shown: this.#text(name),
      isSecret: isSecretName(name),
      isSecretMap: isSecretMap(name),
      isMcp: isMcpName(name),
      isMcpSecret: canonical === 'auth',
      isMcpMap: canonical === 'headers' || canonical === 'auth',
      isDescribing: DESCRIBING.has(canonical),
    };
    if (name.length <= LONGEST_NAME && this.#names.size < MOST_NAMES) this.#names.set(name, fresh);
    return fresh;
  }
}

function isHidden(name: Name, value: string, place: Place): boolean {
  if (value === '') return false;
  if (place.inside === 'map') return true;
  if (place.inside === 'entry') return !name.isDescribing;
  return name.isSecret || (place.mcp && name.isMcpSecret);
}

function placeBelow(name: Name, value: object, place: Place): Place {
  const mcp = place.mcp || name.isMcp;
  const depth = place.depth + 1;
  // Counts of tokens are figures, not secrets.
  if (hasOnlyFigures(value as Record<string, unknown>)) return { depth, mcp, inside: 'open' };
  // In a map of secrets the name of a secret shows nothing about its entry.
  if (place.inside === 'map' && !Array.isArray(value)) return { depth, mcp, inside: 'entry' };
  const isMap = name.isSecretMap || name.isSecret || (mcp && name.isMcpMap);
  return { depth, mcp, inside: isMap ? 'map' : place.inside };
}

function hasOnlyFigures(value: Record<string, unknown>): boolean {
  for (const name in value) if (value[name] !== null && typeof value[name] !== 'number') return false;
  return true;
}
