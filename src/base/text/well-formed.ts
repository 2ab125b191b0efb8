/**
 * Text that every reader of JSON takes. `jq`, PostgreSQL and endpoints of models refuse half of a
 * surrogate pair or U+0000.
 */

/**
 * At most `length` UTF-16 units, of the end where it is negative; a pair is never cut into halves.
 */
export function cut(text: string, length: number): string {
  return length < 0
    ? text.slice(length).replace(/^[\udc00-\udfff]/, '')
    : text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

export function shortened(text: string, length: number): string {
  return text.length > length ? `${cut(text, length)}…` : text;
}

/**
 * The text of JSON.stringify with U+FFFD in place of U+0000 and of halves of surrogate pairs, which
 * it escapes.
 */
export function wellFormedJson(json: string): string {
  return json.replace(/\\(?:u0000|ud[89a-f]..|\\)/g, (found) =>
    found === '\\\\' ? found : '\ufffd',
  );
}

export function wellFormed<Value>(value: Value): Value {
  return JSON.parse(wellFormedJson(JSON.stringify(value))) as Value;
}
