/** One step of the timeline. */
import { codeBlock, diffBlock, number, textBlock } from './blocks.ts';
import { clipped, type Clipped } from './clipped.ts';
import { markup, Markup } from './markup.ts';
import type { Step, StepKind } from './steps.ts';

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
