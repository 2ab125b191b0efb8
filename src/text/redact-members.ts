/** Secrets in JSON values, told by the names of members. Names and structure stay, so that a reader sees what was set. */
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

/** What a member's name says of its value. */
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
  return (value) => redaction.redact('', value, { depth: 0, inside: 'open', mcp: false });
}

class MemberRedaction {
  readonly #text: (text: string) => string;
  readonly #names = new Map<string, Name>();

  constructor(text: (text: string) => string) {
    this.#text = text;
  }

  redact(name: string, value: unknown, place: Place): unknown {
    if (typeof value === 'string') return this.#isHidden(name, value, place) ? REDACTED : this.#text(value);
    if (typeof value === 'number') return place.inside === 'map' ? REDACTED : value;
    if (typeof value !== 'object' || value === null) return value;
    if (place.depth > DEEPEST) return REDACTED;
    const below = this.#placeBelow(name, value, place);
    return Array.isArray(value) ? this.#array(value, below) : this.#members(value, below);
  }

  #members(value: object, below: Place): object {
    const copy: Record<string, unknown> = {};
    for (const [member, content] of Object.entries(value)) {
      const { shown } = this.#named(member);
      const redacted = this.redact(member, content, below);
      // An assignment to that name would set the prototype.
      if (shown === '__proto__') Object.defineProperty(copy, shown, { ...OWN, value: redacted });
      else copy[shown] = redacted;
    }
    return copy;
  }

  /** A list may be the arguments of a command: the word after `--api-key` is a secret too. */
  #array(values: readonly unknown[], place: Place): unknown[] {
    const shown = shownArguments(values);
    return values.map((value, index) => {
      const redacted = this.redact('', value, place);
      return redacted === REDACTED ? redacted : (shown[index] ?? redacted);
    });
  }

  #isHidden(name: string, value: string, place: Place): boolean {
    if (value === '') return false;
    if (place.inside === 'map') return true;
    const named = this.#named(name);
    if (place.inside === 'entry') return !named.isDescribing;
    return named.isSecret || (place.mcp && named.isMcpSecret);
  }

  #placeBelow(name: string, value: object, place: Place): Place {
    const named = this.#named(name);
    const mcp = place.mcp || named.isMcp;
    const depth = place.depth + 1;
    // Counts of tokens are figures, not secrets.
    if (hasOnlyFigures(value)) return { depth, mcp, inside: 'open' };
    // What a secret is called inside a map of secrets says nothing about its entry.
    if (place.inside === 'map' && !Array.isArray(value)) return { depth, mcp, inside: 'entry' };
    const isMap = named.isSecretMap || named.isSecret || (mcp && named.isMcpMap);
    return { depth, mcp, inside: isMap ? 'map' : place.inside };
  }

  #named(name: string): Name {
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

const OWN = { configurable: true, enumerable: true, writable: true };

function hasOnlyFigures(value: object): boolean {
  for (const member of Object.values(value)) if (member !== null && typeof member !== 'number') return false;
  return true;
}
