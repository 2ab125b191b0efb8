/** Secrets in JSON values, told by the names of members. Names and structure stay, so that a reader sees what was set. */
import { REDACTED, canonicalName, isMcpName, isSecretMap, isSecretName } from './secret-names.ts';

/** Deeper than any document of the interface; what is below is dropped instead of overflowing the stack. */
const DEEPEST = 200;

/** Members that only describe a secret and stay readable in an entry of a map of secrets. */
const DESCRIBING = new Set(['name', 'kind', 'type', 'description', 'host', 'id', 'user_id', 'provider', 'key_name']);

interface Place {
  depth: number;
  /** `open`: names decide · `map`: every value is a secret · `entry`: every text is one that does not describe it. */
  inside: 'open' | 'map' | 'entry';
  mcp: boolean;
}

/**
 * @param value JSON; not changed
 * @param text applied to each string that is not replaced as a whole
 */
export function redactMembers(value: unknown, text: (text: string) => string): unknown {
  return redact('', value, { depth: 0, inside: 'open', mcp: false }, text);
}

function redact(name: string, value: unknown, place: Place, text: (text: string) => string): unknown {
  if (typeof value === 'string') return isHidden(name, value, place) ? REDACTED : text(value);
  if (typeof value === 'number') return place.inside === 'map' ? REDACTED : value;
  if (typeof value !== 'object' || value === null) return value;
  if (place.depth > DEEPEST) return REDACTED;
  const below = placeBelow(name, value, place);
  if (Array.isArray(value)) return redactArray(value, below, text);
  return Object.fromEntries(
    Object.entries(value).map(([member, content]) => [text(member), redact(member, content, below, text)]),
  );
}

function isHidden(name: string, value: string, place: Place): boolean {
  if (value === '') return false;
  if (place.inside === 'map') return true;
  if (place.inside === 'entry') return !DESCRIBING.has(canonicalName(name));
  return isSecretName(name) || (place.mcp && canonicalName(name) === 'auth');
}

function placeBelow(name: string, value: object, place: Place): Place {
  const mcp = place.mcp || isMcpName(name);
  const below = { depth: place.depth + 1, mcp };
  // Counts of tokens are figures, not secrets.
  if (hasOnlyFigures(value)) return { ...below, inside: 'open' };
  // What a secret is called inside a map of secrets says nothing about its entry.
  if (place.inside === 'map' && !Array.isArray(value)) return { ...below, inside: 'entry' };
  const isMap = isSecretMap(name) || isSecretName(name) || (mcp && /^(?:headers|auth)$/.test(canonicalName(name)));
  if (isMap) return { ...below, inside: 'map' };
  if (place.inside === 'open') return { ...below, inside: 'open' };
  return { ...below, inside: place.inside };
}

/** Arguments of a command: the word after `--api-key` is a secret too. */
function redactArray(values: readonly unknown[], place: Place, text: (text: string) => string): unknown[] {
  return values.map((value, index) => {
    const before: unknown = values[index - 1];
    const isAnswer = typeof before === 'string' && /^--?[\w-]{0,60}(?:api-?key|token|password|secret)$/i.test(before);
    return isAnswer && typeof value === 'string' ? REDACTED : redact('', value, place, text);
  });
}

function hasOnlyFigures(value: object): boolean {
  return Object.values(value).every((member) => member === null || typeof member === 'number');
}
