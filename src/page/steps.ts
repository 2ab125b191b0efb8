import { createEditReader, sidesOf, type Edit } from '../domain/edits.ts';
import type { ConversationEvent } from '../domain/event.ts';
import {
  eventText,
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
import { parseTime, roundDuration } from '../base/text/time.ts';
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
  title?: string;
  thought?: string;
  body?: string | null;
  form?: Form;
  failure?: string | null;
}

/** Without `text`: an event of V1, whose text is made from its payload. */
export type PageEvent = Omit<ConversationEvent, 'type' | 'conversation_id' | 'text'> & {
  text?: string;
};

/** `startedAt` null: the clock begins with the first event. */
export function createStepReader(startedAt: string | null) {
  let firstMs = parseTime(startedAt);
  let lastMs = firstMs;
  const readEdit = createEditReader();
  return {
    async read({ text, ...read }: PageEvent): Promise<Markup | null> {
      const event = { ...read, text: text ?? eventText(read.kind, read.payload) };
      const edit = readEdit(event);
      if (isBookkeeping(event)) return null;
      const ms = parseTime(event.timestamp);
      firstMs ??= ms;
      const step = edit === null ? stepOf(event) : await editStep(edit);
      if (step === null) return null;
      if (ms === null || firstMs === null) return stepItem(step, markup`<span></span>`);
      const sinceLastMs = Math.max(0, ms - (lastMs ?? ms));
      const word =
        sinceLastMs < 10_000 ? `${(sinceLastMs / 1000).toFixed(1)}s` : roundDuration(sinceLastMs);
      const duration = lastMs === null ? '' : `\n+${word}`;
      lastMs = ms;
      const time = `${elapsed(ms - firstMs)}${duration}`;
      return stepItem(step, markup`<time datetime="${event.timestamp}">${time}</time>`);
    },
  };
}

/** The page shows these by its other steps, and its outcome. */
const IMPLIED_STATES = /^(?:init|loading|idle|running|finished|awaiting_user_input)$/;

function stepOf(event: PageEvent & { text: string }): Step | null {
  const text = fullText(event);
  if (event.signal === 'message') return { kind: 'user', body: text || event.text };
  const status = statusWordOf(event);
  if (status !== null && IMPLIED_STATES.test(status)) return null;
  if (status !== null) return { kind: 'status', title: status.replaceAll('_', ' ') };
  return STEPS[shapeOf(event)](event, text);
}

type MakeStep = (event: PageEvent & { text: string }, text: string) => Step;

const agentStep: MakeStep = (event, text) => ({
  kind: 'agent',
  body: text || event.text,
  form: 'markdown',
});

const STEPS: Record<ReturnType<typeof shapeOf>, MakeStep> = {
  message: agentStep,
  finish: agentStep,
  command(event) {
    const body = commandOf(event);
    const thought = thoughtOf(event).trim();
    return { kind: 'command', title: isLong(body) ? event.text : '', thought, body, form: 'code' };
  },
  output(event, text) {
    const exitCode = exitCodeOf(event) ?? 0;
    const error = isErrorOf(event) ? 'failed' : null;
    const failure = exitCode > 0 ? `exit code ${exitCode}` : error;
    return { kind: 'output', body: text || null, form: 'code', failure };
  },
  error: (event, text) => ({
    kind: 'error',
    title: event.text,
    body: text || null,
    form: 'code',
  }),
  action(event) {
    const thought = thoughtOf(event).trim();
    const reason = thought === event.text ? '' : thought;
    return { kind: 'action', title: event.text, thought: reason };
  },
  other: (event, text) => ({
    kind: 'other',
    title: event.text,
    body: text === event.text ? null : text || null,
  }),
};

async function editStep(edit: Edit): Promise<Step> {
  const { path, before, after } = edit;
  const step = { kind: 'edit', title: safeLine(path), form: 'diff' } as const;
  const sides = sidesOf(edit);
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

function stepItem(step: Step, time: Markup): Markup {
  const { kind, title = '', thought = '', form, failure = null } = step;
  const nameClass = kind === 'other' || kind === 'status' ? 'quiet' : 'who';
  const titleClass = form === 'diff' ? 'path' : '';
  const shownTitle = title && markup`<span class="${titleClass}">${title}</span> `;
  const shownFailure = failure && markup`<strong class="bad">${failure}</strong> `;
  const name = markup`<span class="${nameClass}">${NAMES[kind]}</span>`;
  const content = contentOf(step, markup`${name} ${shownTitle}${shownFailure}`);
  const shownThought = thought && block(thought, 'markdown');
  const failed = kind === 'error' || failure !== null ? ' failed' : '';
  return markup`<li class="${kind}${failed}">${time}<div>${shownThought}${content}</div></li>
`;
}

/** Long bodies and those of other events are closed at first, but not what is said. */
function contentOf(
  { kind, body = null, form = 'text', failure = null }: Step,
  heading: Markup,
): Markup {
  if (body === null) return heading;
  const shown = block(body, form);
  const isSaid = kind === 'user' || kind === 'agent';
  if (kind === 'other' || (!isSaid && isLong(body))) {
    const lines = body.split('\n').length;
    const size = `${number(lines)} ${lines === 1 ? 'line' : 'lines'}`;
    const summary = markup`<summary>${heading}<span class="quiet">${size}</span></summary>`;
    return markup`<details>${summary}${shown}</details>`;
  }
  return kind === 'output' && failure === null ? shown : markup`${heading}${shown}`;
}
