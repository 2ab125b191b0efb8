/** Unsafe characters are shown as an escape (`\x1b`, `\u202e`), not dropped. */
import { wellFormedJson } from './well-formed.ts';

// Soft hyphens, variation selectors of emoji and combining marks stay: text needs them and they
// hide nothing.
const INVISIBLE =
  '\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb';
const ASTRAL_INVISIBLE = '\\u{e0000}-\\u{e0fff}\\u{1d173}-\\u{1d17a}';
const LONE_SURROGATES = '\\ud800-\\udfff';

/**
 * Joiners belong to emoji and to Persian and Indic scripts; next to ASCII or at an end they only
 * hide something.
 */
const STRAY_JOINERS = '(?<![^\\0-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\0-\\x7f])';

const UNSAFE_BUT_LINES = new RegExp(
  `[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f${INVISIBLE}${ASTRAL_INVISIBLE}${LONE_SURROGATES}]|${STRAY_JOINERS}`,
  'gu',
);
const UNSAFE = new RegExp(
  `[\\0-\\x1f\\x7f-\\x9f${INVISIBLE}${ASTRAL_INVISIBLE}${LONE_SURROGATES}]|${STRAY_JOINERS}`,
  'gu',
);
const PLAIN = /^[\x20-\x7e]*$/;

export function safeText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSAFE_BUT_LINES, visible);
}

export function safeLine(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSAFE, visible);
}

/**
 * For the text of JSON.stringify, which leaves C1 controls, bidirectional controls and invisible
 * characters raw.
 */
export function escapeJson(json: string): string {
  return wellFormedJson(json).replace(UNSAFE_IN_JSON, (found) =>
    Array.from(
      { length: found.length },
      (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
// Line feeds are the layout of a pretty document; inside strings JSON.stringify has escaped them
// already.
const UNSAFE_IN_JSON = new RegExp(`[\\x7f-\\x9f${INVISIBLE}${ASTRAL_INVISIBLE}]`, 'gu');

function visible(found: string): string {
  if (found === '\n') return '\\n';
  if (found === '\t') return '\\t';
  if (found === '\r') return '\\r';
  const code = found.codePointAt(0) ?? 0;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\u{${code.toString(16)}}`;
}

/** Invalid UTF-8 becomes U+FFFD; `\r\n` becomes a line feed, a lone `\r` is shown. */
export function createSafeStream(): { push(chunk: string | Uint8Array): string; end(): string } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let held = '';
  // Stands for the last character given out: joiners depend on what is before them.
  let before = '';
  const release = (text: string): string => {
    const safe = safeText(before + text.replaceAll('\r\n', '\n')).slice(before.length);
    const last = text.slice(-2).match(/.$/su)?.[0] ?? '';
    if (text !== '')
      before = /[^\0-\x7f\u200c\u200d]/u.test(last) && safeText(last) === last ? 'é' : 'a';
    return safe;
  };
  return {
    push(chunk) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
      const text = held + decoder.decode(bytes, { stream: true });
      held = /[\r\u200c\u200d]{1,64}$/.exec(text)?.[0] ?? '';
      return release(text.slice(0, text.length - held.length));
    },
    end() {
      const text = held + decoder.decode();
      held = '';
      return release(text);
    },
  };
}
