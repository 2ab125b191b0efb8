/**
 * The page of a conversation: one HTML document without scripts and without requests. It is made in parts, so that it
 * can be written while the events are read.
 */
import { createHash } from 'node:crypto';
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { RECONSTRUCTED } from '../domain/edits.ts';
import { lineTotals, type ChangedFile } from '../domain/patch.ts';
import { formatUsd } from '../text/usd.ts';
import { clipped, type Clipped } from './clipped.ts';
import { markup, Markup } from './markup.ts';
import { createStepReader, type Step, type StepKind } from './steps.ts';
import { STYLE } from './style.ts';

export interface PageRecord {
  conversation: Conversation;
  /** Oldest first; read once. */
  events(): AsyncIterable<readonly ConversationEvent[]>;
  answer(): Promise<string | null>;
  /** Called when all events have been read. */
  diff(): Promise<PageDiff>;
}

export interface PageDiff {
  source: 'workspace' | 'edit-events';
  files: readonly ChangedFile[];
  omissions: readonly string[];
  patch: Uint8Array;
}

export async function* pageParts(record: PageRecord): AsyncGenerator<string, void, void> {
  const { conversation } = record;
  yield pageStart(conversation, await record.answer()).html;
  const steps = createStepReader(conversation.created_at);
  for await (const page of record.events()) {
    for (const event of page) {
      const step = await steps.read(event);
      if (step !== null) yield stepItem(step).html;
    }
  }
  yield markup`</ol></section>`.html;
  yield changesSection(await record.diff()).html;
  yield markup`</main><footer>Conversation ${conversation.id}, exported by acs. Secrets are redacted.</footer></body></html>
`.html;
}

/** No script, no request, no frame, no form: only the style of this page, which its hash names. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** Everything before the first step. */
function pageStart(conversation: Conversation, answer: string | null): Markup {
  const title = conversation.title ?? `Conversation ${conversation.id}`;
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(STYLE)}</style></head>
<body><a class="skip" href="#timeline">Skip to the timeline</a>
<header><h1>${title}</h1>${facts(conversation)}
<nav aria-label="Sections"><a href="#answer">Answer</a><a href="#timeline">Timeline</a><a href="#changes">Changes</a></nav>
</header>
<main><section id="answer" aria-labelledby="answer-title"><h2 id="answer-title">Answer</h2>
${answer === null ? markup`<p class="quiet">The agent has not answered the latest message.</p>` : textBlock(clipped(answer, MOST_OF_ANSWER, MOST_OF_ANSWER))}
</section>
<section id="timeline" aria-labelledby="timeline-title"><h2 id="timeline-title">Timeline</h2>
<ol>
`;
}

const MOST_OF_ANSWER = 100_000;

const TONES: Partial<Record<string, string>> = { finished: 'good', failed: 'bad', stuck: 'bad', waiting: 'warn' };

function facts(conversation: Conversation): Markup {
  const {
    status,
    reason,
    waiting_for,
    cost_usd: cost,
    tokens,
    model,
    repository,
    branch,
    created_at,
    url,
  } = conversation;
  const why = reason?.text ?? (waiting_for === null ? null : `waits for ${waiting_for}`);
  const rows: [string, Markup | string | null][] = [
    [
      'Outcome',
      markup`<strong class="${TONES[status] ?? 'quiet'}">${status}</strong>${why === null ? null : markup`: ${why}`}`,
    ],
    ['Cost', cost === null ? 'not known' : formatUsd(cost)],
    ['Tokens', tokens === null ? null : `${number(tokens.input)} input, ${number(tokens.output)} output`],
    ['Model', model],
    ['Repository', repository],
    ['Branch', branch],
    ['Started', created_at],
    [
      'Address',
      url !== null && /^https?:\/\//i.test(url) ? markup`<a rel="noopener noreferrer" href="${url}">${url}</a>` : null,
    ],
  ];
  const shown = rows.flatMap(([name, value]) => (value === null ? [] : [markup`<dt>${name}</dt><dd>${value}</dd>`]));
  return markup`<dl>${shown}</dl>`;
}

const NAMES: Record<StepKind, string> = {
  user: 'User',
  agent: 'Agent',
  command: 'Command',
  output: 'Output',
  edit: 'Edit',
  action: 'Action',
  error: 'Error',
  status: 'Status',
  other: 'Event',
};

/** Longer bodies are closed at first; what people say is always open. */
const MOST_OPEN_LINES = 14;

export function stepItem({ kind, timestamp, clock, title, thought, body, form, failure }: Step): Markup {
  const time = clock === '' ? markup`<span></span>` : markup`<time datetime="${timestamp}">${clock}</time>`;
  const name = markup`<span class="${kind === 'other' || kind === 'status' ? 'quiet' : 'who'}">${NAMES[kind]}</span> `;
  const heading = markup`${name}${title === '' ? null : markup`<span class="${form === 'diff' ? 'path' : ''}">${title}</span> `}${failure === null ? null : markup`<strong class="bad">${failure}</strong> `}`;
  const said = thought === '' ? null : textBlock(clipped(thought));
  return markup`<li class="${kind}">${time}<div>${said}${body === null ? markup`<div>${heading}</div>` : withBody(kind, heading, body, form)}</div></li>
`;
}

function withBody(kind: StepKind, heading: Markup, body: Clipped, form: Step['form']): Markup {
  const block = form === 'text' ? textBlock(body) : form === 'diff' ? diffBlock(body) : codeBlock(body);
  if (kind === 'user' || kind === 'agent' || kind === 'command') return markup`<div>${heading}</div>${block}`;
  const lines = body.text.split('\n').length;
  const open = new Markup(lines <= MOST_OPEN_LINES && body.left === 0 ? ' open' : '');
  const size = `${number(lines)} ${lines === 1 ? 'line' : 'lines'}`;
  return markup`<details${open}><summary>${heading}<span class="quiet">${size}</span></summary>${block}</details>`;
}

function changesSection({ source, files, omissions, patch }: PageDiff): Markup {
  const others = omissions.filter((omission) => omission !== RECONSTRUCTED);
  const parts = filesIn(new TextDecoder().decode(patch));
  const left = Math.max(0, parts.length - MOST_FILES);
  return markup`<section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Changes</h2>
${source === 'edit-events' ? markup`<p class="warn">This diff is ${RECONSTRUCTED}.</p>` : null}
${files.length === 0 ? markup`<p class="quiet">No changed file is known.</p>` : markup`<p>${total(files)}</p>`}
<div class="files">${parts.slice(0, MOST_FILES).map((part) => fileItem(part, files))}</div>
${left === 0 ? null : markup`<p class="quiet">${number(left)} more files are left out of this page.</p>`}
${others.length === 0 ? null : markup`<p>Left out of the diff:</p><ul>${others.slice(0, MOST_FILES).map((each) => markup`<li>${each}</li>`)}</ul>`}
</section>`;
}

const MOST_FILES = 500;

/** The parts of a patch, one for each file. */
function filesIn(patch: string): string[] {
  return patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '));
}

function fileItem(part: string, files: readonly ChangedFile[]): Markup {
  const [first = ''] = part.split('\n', 1);
  const file = files.find(({ path }) => first.endsWith(` b/${path}`));
  const counts = file === undefined || file.added === null ? '' : `+${file.added} −${file.removed ?? 0}`;
  const name = file?.path ?? first.slice('diff --git '.length);
  return markup`<details><summary><span class="path">${name}</span> <span class="quiet">${file?.status ?? ''} ${counts}</span></summary>${diffBlock(clipped(part.trimEnd()))}</details>
`;
}

function total(files: readonly ChangedFile[]): string {
  const { added, removed } = lineTotals(files);
  return `${number(files.length)} ${files.length === 1 ? 'file' : 'files'} changed, lines added: ${number(added)}, removed: ${number(removed)}`;
}

function textBlock({ text, left }: Clipped): Markup {
  return markup`<pre class="plain">${text}</pre>${leftOut(left)}`;
}

function codeBlock({ text, left }: Clipped): Markup {
  return markup`<pre>${text}</pre>${leftOut(left)}`;
}

function diffBlock({ text, left }: Clipped): Markup {
  let isInHunk = false;
  const lines = text.split('\n').map((line) => {
    isInHunk ||= line.startsWith('@@');
    return markup`<span class="${isInHunk ? (LINE_CLASSES[line.charAt(0)] ?? '') : 'h'}">${line}</span>`;
  });
  return markup`<pre class="diff">${lines}</pre>${leftOut(left)}`;
}

const LINE_CLASSES: Record<string, string> = { '+': 'a', '-': 'r', '@': 'h', '\\': 'h' };

function leftOut(characters: number): Markup | null {
  if (characters === 0) return null;
  return markup`<p class="quiet">${number(characters)} more characters are left out of this page.</p>`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
