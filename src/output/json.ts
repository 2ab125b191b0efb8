import { escapeJson, jsonLine } from '../base/text/safe-text.ts';

export function jsonDocument(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

// A string of V8 ends at about 512 MB: each record is encoded for itself.
export function jsonLines(records: readonly unknown[]): Uint8Array {
  return Buffer.concat(records.map((record) => Buffer.from(jsonLine(record))));
}

export function jsonList(records: readonly unknown[], members: unknown): Uint8Array {
  if (records.length === 0) return Buffer.from(jsonDocument({ items: [], ...(members as object) }));
  const items = records.map((record, index) => {
    // Line feeds within texts are escaped: each one here begins a line.
    const text = JSON.stringify(record, null, 2).replaceAll('\n', '\n    ');
    return Buffer.from(escapeJson(`${index === 0 ? '{\n  "items": [' : ','}\n    ${text}`));
  });
  const rest = JSON.stringify(members, null, 2).slice(1);
  return Buffer.concat([
    ...items,
    Buffer.from(escapeJson(`\n  ]${rest === '}' ? '\n}' : `,${rest}`}\n`)),
  ]);
}

/** Names of members stay; what holds no changed string is not copied. */
export function mapStrings(
  value: unknown,
  change: (text: string) => string,
  isDone: (value: object) => boolean = () => false,
): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || isDone(value)) return value;
  const entries = Object.entries(value).map(
    ([name, member]) => [name, mapStrings(member, change, isDone)] as const,
  );
  if (entries.every(([name, member]) => member === (value as Record<string, unknown>)[name]))
    return value;
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}
