/** One HTML document without requests to other places, made in parts while the events are read. */
import { createHash } from 'node:crypto';
import { type Conversation, usedNoModel } from '../domain/conversation.ts';
import { RECONSTRUCTED, type ConversationDiff } from '../domain/edits.ts';
import { lineTotals, patchFiles, type ChangedFile } from '../domain/patch.ts';
import { safeLine } from '../base/text/safe-text.ts';
import { parseTime, roundDuration } from '../base/text/time.ts';
import { formatUsd } from '../base/text/usd.ts';
import { block, markup, Markup, number } from './markup.ts';
import { createStepReader, type PageEvent } from './steps.ts';

export interface PageRecord {
  conversation: PageFacts;
  /** Oldest first; read once. */
  events(): AsyncIterable<readonly PageEvent[]>;
  answer(): Promise<string | null>;
  diff(): Promise<ConversationDiff>;
}

/** `loadMore` is false when the page has all steps. */
export const ERRORS_SCRIPT = `
'use strict';
const find = (id) => document.getElementById(id);
const steps = find('steps');
const nextError = find('next-error');
let loadMore = async () => false;
let lastError = null;
function showNextError() {
  nextError.hidden = steps.querySelector('.failed, #more') === null;
}
async function goToNextError() {
  const failed = [...steps.querySelectorAll('.failed')];
  const topOf = (each) => each.getBoundingClientRect().top;
  const isSeen = lastError !== null && topOf(lastError) >= -8 && topOf(lastError) < innerHeight;
  const next = isSeen
    ? failed[failed.indexOf(lastError) + 1]
    : failed.find((each) => topOf(each) > 8);
  if (next === undefined && await loadMore()) return goToNextError();
  lastError = next ?? failed[0] ?? null;
  if (lastError === null) return showNextError();
  lastError.tabIndex = -1;
  lastError.focus({ preventScroll: true });
  lastError.scrollIntoView({ block: 'start' });
}
nextError.addEventListener('click', goToNextError);
showNextError();
`;

export function pageParts(record: PageRecord): AsyncGenerator<string, void, void> {
  const script = `script-src ${sourceOf(ERRORS_SCRIPT)}`;
  const own = `default-src 'none'; style-src ${STYLE_SOURCE}; ${script}`;
  const policy = `${own}; base-uri 'none'; form-action 'none'`;
  const note =
    `Conversation ${record.conversation.id}, exported by acs. The keys of the server and the ` +
    'sandbox, and values with a name or a form of secrets, are redacted; other secrets are not.';
  return documentParts(record, {
    head: markup`<meta http-equiv="Content-Security-Policy" content="${policy}">
`,
    more: () => null,
    end: () => markup`</main><footer>${note}</footer>
<script>${new Markup(ERRORS_SCRIPT)}</script>`,
  });
}

const SECTIONS = [
  markup`<a href="#answer">Answer</a>`,
  markup`<a href="#timeline">Timeline</a>`,
  markup`<a href="#changes">Changes</a>`,
];

/** `more` and `end` are called when the steps have been written. */
export async function* documentParts(
  record: PageRecord,
  frame: { head: Markup | null; more(): Markup | null; end(): Markup },
): AsyncGenerator<string, void, void> {
  const { conversation } = record;
  const skip = markup`<a class="skip" href="#timeline">Skip to the timeline</a>`;
  yield markup`${documentHead(titleOf(conversation), frame.head)}<body>${skip}
<header>${titleHeading(conversation)}${factsList(conversation)}
<nav aria-label="Sections">${SECTIONS}</nav>
</header>
<main>${answerSection(await record.answer())}
<section id="timeline" aria-labelledby="timeline-title"><h2 id="timeline-title">Timeline</h2>
<ol id="steps">
`.html;
  const steps = createStepReader(conversation.created_at);
  for await (const page of record.events()) {
    let items = '';
    for (const event of page) items += (await steps.read(event))?.html ?? '';
    yield items;
  }
  const button = markup`<button id="next-error" type="button" hidden>Next error</button>`;
  yield markup`${frame.more()}</ol>${button}</section>`.html;
  yield changesSection(await record.diff()).html;
  yield markup`${frame.end()}</body></html>
`.html;
}

/** Colours have a contrast of at least 4.5 to 1 in both schemes. */
const STYLE = `
:root{color-scheme:light dark;--back:#fff;--front:#1c2024;--quiet:#5b636d;--line:#d5d9de;
--block:#f4f6f8;--link:#0b57b0;
--good:#17692f;--bad:#b3261e;--warn:#7a4d00;--added:#e3f5e7;--removed:#fde8e6}
@media(prefers-color-scheme:dark){:root{--back:#14171a;--front:#e4e7ea;--quiet:#a3abb4;
--line:#343a41;--block:#1e2327;
--link:#86b7ff;--good:#7ed492;--bad:#ff9d94;--warn:#e8b866;--added:#173322;--removed:#43201e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 4rem;background:var(--back);
color:var(--front);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.15rem;margin:2rem 0 .75rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{position:static}
nav{display:flex;flex-wrap:wrap;gap:1rem;margin-top:1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}
dt,#steps time,.quiet{color:var(--quiet)}
dd{margin:0}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
pre{margin:.25rem 0 0;padding:.6rem .75rem;background:var(--block);border:1px solid var(--line);
border-radius:.3rem;
font:.85rem/1.45 ui-monospace,monospace;white-space:pre-wrap;tab-size:4}
.plain{background:none;border:0;padding:0;font:inherit}
#steps{list-style:none;margin:0;padding:0}
#steps>li{display:grid;grid-template-columns:4.5rem minmax(0,1fr);gap:0 .75rem;padding:.4rem .25rem;
content-visibility:auto;contain-intrinsic-size:auto 3rem}
#steps time{font-variant-numeric:tabular-nums;font-size:.85rem;padding-top:.1rem;
white-space:pre-line}
#next-error{position:fixed;right:1rem;bottom:4rem;padding:.4rem .8rem}
.who{font-weight:600}
li.user>div{border-left:3px solid var(--link);padding-left:.6rem}
li.failed>div{border-left:3px solid var(--bad);padding-left:.6rem}
summary{cursor:pointer}
.path{font-family:ui-monospace,monospace;font-size:.9rem}
.diff span{display:block;min-height:1.45em}
.diff .a{background:var(--added)}.diff .r{background:var(--removed)}.diff .h{color:var(--quiet)}
.files>details{margin:.4rem 0}
ul,.markdown ol{padding-left:1.25rem}
.markdown>*{margin:.5rem 0}
.markdown h3{font-size:1rem}
.markdown code{font-family:ui-monospace,monospace;font-size:.9em}
.markdown blockquote{padding-left:.75rem;border-left:3px solid var(--line)}
.markdown table{border-collapse:collapse}
.markdown :is(th,td){padding:.2rem .6rem;border:1px solid var(--line);text-align:left}
html{scroll-padding-bottom:5rem}
footer{margin-top:3rem;color:var(--quiet);font-size:.85rem}
#live{position:sticky;bottom:0;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:.5rem 0;
background:var(--back);
border-top:1px solid var(--line)}
@media(max-width:36rem){body{padding:1rem .75rem 3rem}#steps>li{display:block}
#steps time{white-space:normal}dl{column-gap:.6rem}}
`;
export const STYLE_SOURCE = sourceOf(STYLE);

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

export type PageFacts = Omit<
  Conversation,
  'start_task_id' | 'dialect' | 'execution_status' | 'sandbox_id' | 'git_provider'
>;

function titleOf({ title, id }: Pick<PageFacts, 'title' | 'id'>): string {
  return title ?? `Conversation ${id}`;
}

export function titleHeading(conversation: Pick<PageFacts, 'title' | 'id'>): Markup {
  return markup`<h1 id="title">${titleOf(conversation)}</h1>`;
}

const MOST_OF_ANSWER = 100_000;

export function answerSection(answer: string | null): Markup {
  const limits = { mostCharacters: MOST_OF_ANSWER, mostLines: MOST_OF_ANSWER };
  const content =
    answer === null
      ? quiet('The agent has not answered the latest message.')
      : block(answer, 'markdown', limits);
  return section('answer', 'Answer', content);
}

function section(id: string, title: string, content: Markup): Markup {
  const titleId = `${id}-title`;
  return markup`<section id="${id}" aria-labelledby="${titleId}"><h2 id="${titleId}">${title}</h2>
${content}
</section>`;
}

function quiet(text: string): Markup {
  return markup`<p class="quiet">${text}</p>`;
}

const TONES: Partial<Record<string, string>> = {
  finished: 'good',
  failed: 'bad',
  stuck: 'bad',
  waiting: 'warn',
};

export function statusWord(status: PageFacts['status']): Markup {
  return markup`<strong class="${TONES[status] ?? 'quiet'}">${status}</strong>`;
}

type Fact = (conversation: PageFacts) => Markup | string | null;

const FACTS: Readonly<Record<string, Fact>> = {
  Outcome({ status, reason, waiting_for }) {
    const why = reason?.text ?? (waiting_for && `waits for ${waiting_for}`);
    return markup`${statusWord(status)}${why && `: ${why}`}`;
  },
  Sandbox: ({ sandbox_status }) => (sandbox_status === 'running' ? null : sandbox_status),
  Cost: (conversation) =>
    conversation.cost_usd === null || usedNoModel(conversation)
      ? null
      : formatUsd(conversation.cost_usd),
  Tokens: (conversation) =>
    conversation.tokens === null || usedNoModel(conversation)
      ? null
      : `${number(conversation.tokens.input)} input, ${number(conversation.tokens.output)} output`,
  Model: ({ model }) => model,
  Repository: ({ repository }) => repository,
  Branch: ({ branch }) => branch,
  Started({ created_at }) {
    const started = parseTime(created_at);
    return started === null ? null : timeOf(started);
  },
  Updated({ created_at, updated_at, status }) {
    const [started, updated] = [parseTime(created_at), parseTime(updated_at)];
    if (started === null || updated === null || status === 'running') return null;
    return markup`${timeOf(updated)} (after ${roundDuration(updated - started)})`;
  },
  Address: ({ url }) =>
    url !== null && /^https?:\/\//i.test(url)
      ? markup`<a rel="noopener noreferrer" href="${url}">${url}</a>`
      : null,
};

export function factsList(conversation: PageFacts): Markup {
  const rows = Object.entries(FACTS).flatMap(([name, read]) => {
    const value = read(conversation);
    return value === null ? [] : [markup`<dt>${name}</dt><dd>${value}</dd>`];
  });
  return markup`<dl id="facts">${rows}</dl>`;
}

const DAY_AND_TIME = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

function timeOf(ms: number): Markup {
  const text = `${DAY_AND_TIME.format(ms)} UTC`;
  return markup`<time datetime="${new Date(ms).toISOString()}">${text}</time>`;
}

const MOST_FILES = 500;

export function changesSection({ source, files, omissions, patch }: ConversationDiff): Markup {
  const others = omissions.filter((omission) => omission !== RECONSTRUCTED).slice(0, MOST_FILES);
  const parts = patchFiles(new TextDecoder().decode(patch));
  const { added, removed } = lineTotals(files);
  const total =
    `${number(files.length)} ${files.length === 1 ? 'file' : 'files'} changed, lines added: ` +
    `${number(added)}, removed: ${number(removed)}`;
  const heading = files.length === 0 ? quiet('No changed file is known.') : markup`<p>${total}</p>`;
  const items = files
    .slice(0, MOST_FILES)
    .map((file) => fileItem(file, parts.get(file.path)?.text));
  const left = files.length - items.length;
  const list = others.map((each) => markup`<li>${each}</li>`);
  return section(
    'changes',
    'Changes',
    markup`${source === 'edit-events' && markup`<p class="warn">This diff is ${RECONSTRUCTED}.</p>`}
${heading}
<div class="files">${items}</div>
${left > 0 && quiet(`${number(left)} more files are left out of this page.`)}
${list.length > 0 && markup`<p>Left out of the diff:</p><ul>${list}</ul>`}`,
  );
}

function fileItem(
  { path, status, added, removed }: ChangedFile,
  patch: string | undefined,
): Markup {
  const change = added === null ? status : `${status} +${added} −${removed ?? 0}`;
  const name = markup`<span class="path">${safeLine(path)}</span>`;
  const heading = markup`${name} <span class="quiet">${change}</span>`;
  if (patch === undefined) return markup`<p>${heading}</p>`;
  return markup`<details><summary>${heading}</summary>${block(patch.trimEnd(), 'diff')}</details>
`;
}
