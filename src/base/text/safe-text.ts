/** Unsafe characters are shown as an escape (`\x1b`, `\u202e`), not dropped. */
import { wellFormedJson } from './well-formed.ts';

// Soft hyphens, variation selectors of emoji and combining marks stay: they hide nothing.
const INVISIBLE =
  '\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f' +
  '\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}\\u{1d173}-\\u{1d17a}';
const LONE_SURROGATES = '\\ud800-\\udfff';

/** Joiners belong to emoji and to Persian and Indic scripts; next to ASCII they hide something. */
const STRAY_JOINERS = '(?<![^\\0-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\0-\\x7f])';

const unsafe = (controls: string): RegExp =>
  new RegExp(`[${controls}\\x7f-\\x9f${INVISIBLE}${LONE_SURROGATES}]|${STRAY_JOINERS}`, 'gu');
const UNSAFE_BUT_LINES = unsafe('\\0-\\x08\\x0b-\\x1f');
const UNSAFE = unsafe('\\0-\\x1f');
const PLAIN = /^[\x20-\x7e]*$/;

export function safeText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSAFE_BUT_LINES, visible);
}

export function safeLine(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSAFE, visible);
}

/** For JSON.stringify, which leaves C1 controls and invisible characters as they are. */
export function escapeJson(json: string): string {
  return wellFormedJson(json).replace(UNSAFE_IN_JSON, (character) =>
    character.split('').map(unitEscape).join(''),
  );
}
// JSON.stringify escapes line feeds in strings; the others are the layout of the document.
const UNSAFE_IN_JSON = new RegExp(`[\\x7f-\\x9f${INVISIBLE}]`, 'gu');

export function jsonLine(value: unknown): string {
  return `${escapeJson(JSON.stringify(value))}\n`;
}

function unitEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  if (code > 0xff) return unitEscape(character);
  return SHORT_ESCAPES[character] ?? `\\x${code.toString(16).padStart(2, '0')}`;
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
