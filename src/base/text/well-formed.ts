// `jq`, PostgreSQL and endpoints of models refuse half of a surrogate pair and U+0000.

/** Returns at most `length` UTF-16 units, from the end if negative; never half of a pair. */
export function cut(text: string, length: number): string {
  return length < 0
    ? text.slice(length).replace(/^[\udc00-\udfff]/, '')
    : text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

export function shortened(text: string, length: number): string {
  return text.length > length ? `${cut(text, length)}…` : text;
}

/** U+FFFD in place of U+0000 and of halves of pairs, which JSON.stringify escapes. */
export function wellFormedJson(json: string): string {
  return json.replace(/\\(?:u0000|ud[89a-f]..|\\)/g, (escape) =>
    escape === '\\\\' ? escape : '\ufffd',
  );
}

export function wellFormed<Value>(value: Value): Value {
  return JSON.parse(wellFormedJson(JSON.stringify(value))) as Value;
}
