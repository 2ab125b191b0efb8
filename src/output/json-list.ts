/** A list as one JSON document; loaded when there is one. */
import { escapeJson } from '../text/safe-text.ts';

/**
 * The document of a list, as `jsonDocument` writes `{ items, ...members }`. Each record is encoded for itself: a string of
 * V8 ends at about 512 MB, and the events of a long conversation are more.
 */
export function jsonList(
  records: readonly Record<string, unknown>[],
  members: Readonly<Record<string, unknown>>,
): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (const record of records) {
    // Line feeds within texts are escaped: each one here begins a line.
    const text = JSON.stringify(record, null, 2).replaceAll('\n', '\n    ');
    pieces.push(encode(`${pieces.length === 0 ? '' : ','}\n    ${text}`));
  }
  const rest = JSON.stringify(members, null, 2).slice(1);
  const end = `${pieces.length === 0 ? '' : '\n  '}]${rest === '}' ? '\n}' : `,${rest}`}\n`;
  return Buffer.concat([encode('{\n  "items": ['), ...pieces, encode(end)]);
}

function encode(json: string): Uint8Array {
  return Buffer.from(escapeJson(json));
}
