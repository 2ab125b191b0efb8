/** Ids in a table: as short as they can be and still be typed back, at least eight characters. */

const SHORTEST = 8;

/** Prefixes of the ids, all of one length at which different ids stay different. */
export function shortenIds(ids: readonly string[]): string[] {
  const distinct = new Set(ids);
  const longest = Math.max(0, ...ids.map((id) => id.length));
  let length = SHORTEST;
  while (length < longest && new Set([...distinct].map((id) => id.slice(0, length))).size < distinct.size) length += 1;
  return ids.map((id) => id.slice(0, length));
}
