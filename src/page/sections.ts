/** The sections of the page around the timeline: facts, answer, changes. */
import type { Conversation } from '../domain/conversation.ts';
import { type ConversationDiff, RECONSTRUCTED } from '../domain/edits.ts';
import { lineTotals, type ChangedFile } from '../domain/patch.ts';
import { formatUsd } from '../text/usd.ts';
import { diffBlock, number, textBlock } from './blocks.ts';
import { clipped } from './clipped.ts';
import { markup, type Markup } from './markup.ts';

/** What the page shows of the record of a conversation. */
export type PageFacts = Pick<
  Conversation,
  | 'id'
  | 'title'
  | 'status'
  | 'reason'
  | 'waiting_for'
  | 'cost_usd'
  | 'tokens'
  | 'model'
  | 'repository'
  | 'branch'
  | 'created_at'
  | 'url'
>;

export function titleOf({ title, id }: Pick<PageFacts, 'title' | 'id'>): string {
  return title ?? `Conversation ${id}`;
}

export function titleHeading(conversation: Pick<PageFacts, 'title' | 'id'>): Markup {
  return markup`<h1 id="title">${titleOf(conversation)}</h1>`;
}

const MOST_OF_ANSWER = 100_000;

export function answerSection(answer: string | null): Markup {
  return markup`<section id="answer" aria-labelledby="answer-title"><h2 id="answer-title">Answer</h2>
${answer === null ? markup`<p class="quiet">The agent has not answered the latest message.</p>` : textBlock(clipped(answer, MOST_OF_ANSWER, MOST_OF_ANSWER))}
</section>`;
}

const TONES: Partial<Record<string, string>> = { finished: 'good', failed: 'bad', stuck: 'bad', waiting: 'warn' };

export function statusWord(status: PageFacts['status']): Markup {
  return markup`<strong class="${TONES[status] ?? 'quiet'}">${status}</strong>`;
}

export function factsList(conversation: PageFacts): Markup {
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
    ['Outcome', markup`${statusWord(status)}${why === null ? null : markup`: ${why}`}`],
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
  return markup`<dl id="facts">${shown}</dl>`;
}

export function changesSection({ source, files, omissions, patch }: ConversationDiff): Markup {
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
