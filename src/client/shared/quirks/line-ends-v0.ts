/**
 * Repairs the line ends of both sides of a changed file.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  a patch of `conv diff` changes every line of a file with CRLF, or does not apply at its
 *           last line: the end of the last line is cut off both sides, and the changed side is read
 *           as text, which makes LF of CRLF.
 * Evidence: test/contract/cases/repositories.ts, "git applies the patch to the base commit, and it
 *           has each kind", run on 1.6.0 over V0; test/client/quirks/line-ends-v0.test.ts
 * Cost:     0 requests; a last line without an end gets one, which `conv diff` names
 * Remove:   when servers with V0 are no longer supported
 */
import type { FileSides } from '../../../domain/patch.ts';

export function withLineEnds(sides: FileSides): { sides: FileSides; assumed: boolean } {
  const { original, modified } = sides;
  const assumed =
    original !== null && modified !== null && hasOnlyCrLf(original) && !modified.includes('\r');
  const changed = assumed ? modified.replaceAll('\n', '\r\n') : modified;
  return { sides: { original: whole(original), modified: whole(changed) }, assumed };
}

function whole(text: string | null): string | null {
  if (text === null || text === '' || text.endsWith('\n')) return text;
  return `${text}${hasOnlyCrLf(text) ? '\r\n' : '\n'}`;
}

function hasOnlyCrLf(text: string): boolean {
  return text.includes('\n') && !/(?<!\r)\n/.test(text);
}
