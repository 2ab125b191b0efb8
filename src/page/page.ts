/**
 * The page of a conversation: one HTML document without requests to other places. It is made in parts, so that it can
 * be written while the events are read.
 */
import type { ConversationDiff } from '../domain/edits.ts';
import { createHash } from 'node:crypto';
import { markup, Markup } from './markup.ts';
import { answerSection, changesSection, factsList, titleHeading, titleOf, type PageFacts } from './sections.ts';
import { stepItem } from './step-item.ts';
import { createStepReader, type PageEvent } from './steps.ts';
import { STYLE } from './style.ts';

export interface PageRecord {
  conversation: PageFacts;
  /** Oldest first; read once. */
  events(): AsyncIterable<readonly PageEvent[]>;
  answer(): Promise<string | null>;
  /** Called when all events have been read. */
  diff(): Promise<ConversationDiff>;
}

/** What an exported page and a live one do not share. */
export interface PageFrame {
  /** Between the elements of the head. */
  head: Markup | null;
  /** What follows the sections, with the end of the main element. Called when all steps have been written. */
  end(): Markup;
}

/** The page as a file: no script, no request, no frame, no form. */
export function pageParts(record: PageRecord): AsyncGenerator<string, void, void> {
  const policy = `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'; form-action 'none'`;
  return documentParts(record, {
    head: markup`<meta http-equiv="Content-Security-Policy" content="${policy}">
`,
    end: () =>
      markup`</main><footer>Conversation ${record.conversation.id}, exported by acs. Secrets are redacted.</footer>`,
  });
}

export async function* documentParts(record: PageRecord, frame: PageFrame): AsyncGenerator<string, void, void> {
  const { conversation } = record;
  yield pageStart(conversation, await record.answer(), frame.head).html;
  const steps = createStepReader(conversation.created_at);
  for await (const page of record.events()) {
    let items = '';
    for (const event of page) {
      const step = await steps.read(event);
      if (step !== null) items += stepItem(step).html;
    }
    yield items;
  }
  yield markup`</ol></section>`.html;
  yield changesSection(await record.diff()).html;
  yield markup`${frame.end()}</body></html>
`.html;
}

/** The style of the page as a source of a Content-Security-Policy. */
export const STYLE_SOURCE = sourceOf(STYLE);

/** The hash by which a policy allows an element with exactly this text. */
export function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

export function documentHead(title: string, more: Markup | null): Markup {
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
${more}<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(STYLE)}</style></head>
`;
}

/** Everything before the first step. */
function pageStart(conversation: PageFacts, answer: string | null, head: Markup | null): Markup {
  return markup`${documentHead(titleOf(conversation), head)}<body><a class="skip" href="#timeline">Skip to the timeline</a>
<header>${titleHeading(conversation)}${factsList(conversation)}
<nav aria-label="Sections"><a href="#answer">Answer</a><a href="#timeline">Timeline</a><a href="#changes">Changes</a></nav>
</header>
<main>${answerSection(answer)}
<section id="timeline" aria-labelledby="timeline-title"><h2 id="timeline-title">Timeline</h2>
<ol id="steps">
`;
}
