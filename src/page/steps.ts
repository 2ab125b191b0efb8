import { createEditReader, type Edit } from '../domain/edits.ts';
import type { ConversationEvent } from '../domain/event.ts';
import {
  eventTextV1,
  commandOf,
  elapsed,
  exitCodeOf,
  fullText,
  isBookkeeping,
  isErrorOf,
  shapeOf,
  statusWordOf,
  thoughtOf,
} from '../domain/event-payload.ts';
import { filePatch, isBinary, statusOf } from '../domain/patch.ts';
import { safeLine } from '../base/text/safe-text.ts';
import { parseTime } from '../base/text/time.ts';
import { block, type Form, markup, type Markup, number } from './markup.ts';

const NAMES = {
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

interface Step {
  kind: keyof typeof NAMES;
  title: string;
  thought?: string;
  body: string | null;
  form: Form;
  failure?: string | null;
}

/** Without `text`: an event of V1, whose text is made from its payload. */
export type PageEvent = Omit<ConversationEvent, 'type' | 'conversation_id' | 'text'> & {
  text?: string;
};

/** `startedAt` null: the clock begins with the first event. */
export function createStepReader(startedAt: string | null) {
  let firstMs = parseTime(startedAt);
  const readEdit = createEditReader();
  return {
    async read({ text, ...read }: PageEvent): Promise<Markup | null> {
      const event = { ...read, text: text ?? eventTextV1(read.kind, read.payload) };
      const edit = readEdit(event);
      if (isBookkeeping(event)) return null;
      const ms = parseTime(event.timestamp);
      firstMs ??= ms;
      const clock = ms === null || firstMs === null ? '' : elapsed(ms - firstMs);
      const time =
        clock === ''
          ? markup`<span></span>`
          : markup`<time datetime="${event.timestamp ?? ''}">${clock}</time>`;
      const step = edit === null ? stepOf(event) : await editStep(edit);
      return step === null ? null : stepItem(step, time);
    },
  };
}

/** The page shows these by its other steps, and its outcome. */
const IMPLIED_STATES = /^(?:init|loading|idle|running|finished|awaiting_user_input)$/;

/** Null: nothing to show. */
function stepOf(event: PageEvent & { text: string }): Step | null {
  const text = fullText(event);
  const said = { title: '', body: text || event.text, form: 'text' } as const;
  if (event.signal === 'message') return { kind: 'user', ...said };
  const status = statusWordOf(event);
  if (status !== null && IMPLIED_STATES.test(status)) return null;
  if (status !== null)
    return { kind: 'status', title: status.replaceAll('_', ' '), body: null, form: 'text' };
  const thought = thoughtOf(event).trim();
  switch (shapeOf(event)) {
    case 'message':
    case 'finish':
      return { kind: 'agent', ...said, form: 'markdown' };
    case 'command': {
      const body = commandOf(event);
      return {
        kind: 'command',
        title: isLong(body) ? event.text : '',
        thought,
        body,
        form: 'code',
      };
    }
    case 'output': {
      const exitCode = exitCodeOf(event) ?? 0;
      const failure = isErrorOf(event) ? 'failed' : null;
      const shown = exitCode > 0 ? `exit code ${exitCode}` : failure;
      return { kind: 'output', title: '', body: text || null, form: 'code', failure: shown };
    }
    case 'error':
      return { kind: 'error', title: event.text, body: text || null, form: 'code' };
    case 'action': {
      const reason = thought === event.text ? '' : thought;
      return { kind: 'action', title: event.text, thought: reason, body: null, form: 'text' };
    }
    case 'other':
      return {
        kind: 'other',
        title: event.text,
        body: text === event.text ? null : text || null,
        form: 'text',
      };
  }
}

async function editStep({ path, before, after }: Edit): Promise<Step> {
  const step = { kind: 'edit', title: safeLine(path), body: null, form: 'diff' } as const;
  const sides = { original: before ?? null, modified: after ?? null };
  if (after === undefined || before === undefined || before === after || isBinary(sides))
    return step;
  const patch = await filePatch({ path, status: statusOf(sides) }, sides);
  // Without the lines before the first hunk, which name the file.
  return {
    ...step,
    body: patch === null ? null : patch.slice(Math.max(0, patch.indexOf('\n@@') + 1)).trimEnd(),
  };
}

function isLong(body: string): boolean {
  return body.length > 2_000 || body.split('\n').length > 14;
}

/**
 * Long bodies, and those of other events, are closed at first; what people and agents say is always
 * open.
 */
function stepItem(
  { kind, title, thought = '', body, form, failure = null }: Step,
  time: Markup,
): Markup {
  const name = markup`<span class="${kind === 'other' || kind === 'status' ? 'quiet' : 'who'}">${NAMES[kind]}</span> `;
  const shownTitle =
    title === '' ? null : markup`<span class="${form === 'diff' ? 'path' : ''}">${title}</span> `;
  const shownFailure = failure === null ? null : markup`<strong class="bad">${failure}</strong> `;
  const heading = markup`${name}${shownTitle}${shownFailure}`;
  let content = markup`${heading}${body === null ? null : block(body, form)}`;
  const isFolded = kind === 'other' || (kind !== 'user' && kind !== 'agent' && isLong(body ?? ''));
  if (body !== null && isFolded) {
    const lines = body.split('\n').length;
    const size = `${number(lines)} ${lines === 1 ? 'line' : 'lines'}`;
    content = markup`<details><summary>${heading}<span class="quiet">${size}</span></summary>${block(body, form)}</details>`;
  } else if (kind === 'output' && failure === null && body !== null) content = block(body, form);
  return markup`<li class="${kind}">${time}<div>${thought === '' ? null : block(thought, 'markdown')}${content}</div></li>
`;
}
