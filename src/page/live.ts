/** The policy of the page names the hash of its script: nothing else can run. */
import { type ConversationDiff, EditLog } from '../domain/edits.ts';
import { patchFiles } from '../domain/patch.ts';
import { markup, Markup } from './markup.ts';
import {
  answerSection,
  changesSection,
  documentHead,
  documentParts,
  ERRORS_SCRIPT,
  factsList,
  type PageFacts,
  type PageRecord,
  sourceOf,
  statusWord,
  STYLE_SOURCE,
  titleHeading,
} from './page.ts';
import type { PageEvent } from './steps.ts';
import { cut } from '../base/text/well-formed.ts';

export type { ConversationDiff };

/** A hidden page has no connection: a browser allows six, and the service must be able to end. */
export const LIVE_SCRIPT = `${ERRORS_SCRIPT}
const say = (text) => { find('connection').textContent = text; };
let after = find('live').dataset.after;
let source = null;
let query = '';
let hasEnded = false;
function addSteps({ data, lastEventId }) {
  const last = steps.lastElementChild;
  const bottom = last === null ? 0 : last.getBoundingClientRect().bottom;
  steps.insertAdjacentHTML('beforeend', data);
  after = lastEventId;
  const isAtEnd = bottom > 0 && bottom <= innerHeight;
  if (isAtEnd) steps.lastElementChild.scrollIntoView({ block: 'nearest' });
  showNextError();
}
let loading = null;
const inView = new IntersectionObserver((entries) => {
  if (entries.some((each) => each.isIntersecting)) loadMore();
});
async function replaceMore(more) {
  const answer = await fetch(location.pathname + '/steps?' + more.dataset.range);
  if (!answer.ok) return false;
  more.outerHTML = await answer.text();
  watchMore();
  return true;
}
loadMore = async () => {
  const more = find('more');
  if (more === null) return false;
  loading ??= replaceMore(more).catch(() => false).finally(() => { loading = null; });
  return loading;
};
function watchMore() {
  inView.disconnect();
  const more = find('more');
  if (more !== null) inView.observe(more);
  showNextError();
}
steps.addEventListener('click', ({ target }) => {
  if (target.closest('#more') !== null) loadMore();
});
watchMore();
function replaceParts({ data }) {
  const parts = document.createElement('template');
  parts.innerHTML = data;
  for (const part of [...parts.content.children]) {
    const old = find(part.id);
    const openPaths = [...old.querySelectorAll('details[open] .path')];
    const open = new Set(openPaths.map((each) => each.textContent));
    for (const each of part.querySelectorAll('details')) {
      if (open.has(each.querySelector('.path').textContent)) each.open = true;
    }
    if (old.innerHTML !== part.innerHTML) old.replaceWith(part);
  }
  document.title = find('title').textContent;
}
function connect() {
  if (source !== null || hasEnded || document.hidden) return;
  source = new EventSource(location.pathname + '/live?after=' + after + query);
  query = '&again=true';
  source.addEventListener('open', () => say('Connected.'));
  source.addEventListener('steps', addSteps);
  source.addEventListener('part', replaceParts);
  source.addEventListener('end', ({ data }) => {
    hasEnded = true;
    source.close();
    say(data);
  });
  source.addEventListener('error', () => {
    if (hasEnded) return;
    say(source.readyState === 2
      ? 'Disconnected: the access has expired or the service has stopped. ' +
        'Open the page again with acs conv open.'
      : 'Connection lost; reconnecting.');
  });
}
function visibilityChanged() {
  if (!document.hidden) return connect();
  if (source === null || hasEnded) return;
  source.close();
  source = null;
}
document.addEventListener('visibilitychange', visibilityChanged);
find('newest').addEventListener('click', async (event) => {
  if (steps.lastElementChild === null) return;
  event.preventDefault();
  while (await loadMore());
  steps.lastElementChild.scrollIntoView({ block: 'end' });
});
connect();
`;

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

/** `range`: of the steps that follow those of the page; called when these have been read. */
export function livePageParts(
  record: PageRecord,
  range: () => { after: number; until: number },
): AsyncGenerator<string, void, void> {
  const { id, status } = record.conversation;
  const note =
    `Conversation ${id}, shown by the local service of acs. This page cannot change it. The keys ` +
    'of the service and the sandbox, the secrets of the conversation, and values with a name or ' +
    'a form of secrets, are redacted; other secrets are not.';
  const connection = markup`<span id="connection" class="quiet">Not connected.</span>`;
  const state = markup`<span role="status">${runWord(status)} ${connection}</span>`;
  const newest = markup`<a id="newest" href="#changes">Newest step</a>`;
  return documentParts(record, {
    head: null,
    more: () => moreSteps(range()),
    end: () => markup`<p class="quiet">${note}</p></main>
<footer id="live" data-after="${range().until}">${state} ${newest}</footer>
<script>${new Markup(LIVE_SCRIPT)}</script>`,
  });
}

/** Null when there are none; the page replaces it with the answer of the route. */
export function moreSteps({ after, until }: { after: number; until: number }): Markup | null {
  if (after >= until) return null;
  const range = `after=${after}&until=${until}`;
  const button = markup`<button type="button">Show more steps</button>`;
  return markup`<li id="more" data-range="${range}">${button}</li>
`;
}

export function messagePage(title: string, text: string, command: string | null): string {
  const next = command === null ? null : markup` Run: <code>${command}</code>`;
  const main = markup`<main><h1>${title}</h1><p>${text}${next}</p></main>`;
  return markup`${documentHead(title, null)}<body>${main}</body></html>
`.html;
}

/** `position`: of the newest event; a browser that reconnects requests what follows it. */
export function stepsMessage(steps: readonly (Markup | null)[], position: number): string {
  const items = steps.map((step) => step?.html ?? '').join('');
  return items === '' ? `id: ${position}\n\n` : message('steps', items, position);
}

export function factsMessage(facts: PageFacts): string {
  return message(
    'part',
    `${titleHeading(facts).html}${factsList(facts).html}${runWord(facts.status).html}`,
  );
}

export function answerMessage(answer: string | null): string {
  return message('part', answerSection(answer).html);
}

export function changesMessage(diff: ConversationDiff): string {
  return message('part', changesSection(diff).html);
}

export function endMessage(text: string): string {
  return message('end', text);
}

function runWord(status: PageFacts['status']): Markup {
  return markup`<span id="run">Status: ${statusWord(status)}.</span>`;
}

function message(event: string, data: string, id?: number): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}

const MOST_CHARACTERS = 4_000_000;

export function diffOfPatch(patch: string): ConversationDiff {
  const isLong = patch.length > MOST_CHARACTERS;
  return {
    source: 'workspace',
    files: [...patchFiles(patch).values()],
    omissions: isLong ? ['the diff is too long for this page; acs conv diff prints all of it'] : [],
    patch: Buffer.from(cut(patch, MOST_CHARACTERS)),
  };
}

export async function diffOfEdits(
  events: AsyncIterable<readonly PageEvent[]>,
  conversation: Parameters<EditLog['diff']>[0],
): Promise<ConversationDiff> {
  const edits = new EditLog();
  for await (const page of events) for (const event of page) edits.add(event);
  return await edits.diff(conversation);
}
