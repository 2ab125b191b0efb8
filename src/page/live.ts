/**
 * The live page: the same document with a script of its own, which reads messages with new parts of the page. The text
 * of the script is constant, and its policy names its hash: nothing else on the page can run.
 */
import type { ConversationDiff } from '../domain/edits.ts';
import { LIVE_SCRIPT } from './live-script.ts';
import { markup, Markup } from './markup.ts';
import { documentHead, documentParts, sourceOf, STYLE_SOURCE, type PageRecord } from './page.ts';
import { answerSection, changesSection, factsList, statusWord, titleHeading, type PageFacts } from './sections.ts';
import { stepItem } from './step-item.ts';
import type { Step } from './steps.ts';

/** Sent as a header: a policy in the document cannot forbid frames. */
export const LIVE_POLICY = [
  "default-src 'none'",
  `style-src ${STYLE_SOURCE}`,
  `script-src ${sourceOf(LIVE_SCRIPT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @param lastEvent the place of the newest event that the page has; called when all events have been read */
export function livePageParts(record: PageRecord, lastEvent: () => number): AsyncGenerator<string, void, void> {
  const { id, status } = record.conversation;
  return documentParts(record, {
    head: null,
    end: () => markup`<p class="quiet">Conversation ${id}, shown by the local service of acs. This page cannot change it. Secrets are redacted.</p></main>
<footer id="live" data-after="${lastEvent()}"><span role="status">${runWord(status)} <span id="connection" class="quiet">This page is not updated.</span></span> <a id="newest" href="#changes">Newest step</a></footer>
<script>${new Markup(LIVE_SCRIPT)}</script>`,
  });
}

/** A page with a message and nothing else; `command` is what to run instead. */
export function messagePage(title: string, text: string, command: string | null): string {
  const next = command === null ? null : markup` Run: <code>${command}</code>`;
  return markup`${documentHead(title, null)}<body><main><h1>${title}</h1><p>${text}${next}</p></main></body></html>
`.html;
}

/** Steps behind those of the page. `place`: of the newest event; a browser that reconnects requests what follows it. */
export function stepsMessage(steps: readonly Step[], place: number): string {
  const items = steps.map((step) => stepItem(step).html).join('');
  return items === '' ? `id: ${place}\n\n` : message('steps', items, place);
}

export function factsMessage(facts: PageFacts): string {
  return message('part', `${titleHeading(facts).html}${factsList(facts).html}${runWord(facts.status).html}`);
}

export function answerMessage(answer: string | null): string {
  return message('part', answerSection(answer).html);
}

export function changesMessage(diff: ConversationDiff): string {
  return message('part', changesSection(diff).html);
}

/** The last message: the page is not updated any more. */
export function endMessage(text: string): string {
  return message('end', text);
}

function runWord(status: PageFacts['status']): Markup {
  return markup`<span id="run">The run is ${statusWord(status)}.</span>`;
}

/** A server-sent event; its data may have several lines. */
function message(event: string, data: string, id?: number): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}
