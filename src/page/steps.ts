/** The events of a conversation as the steps that the page shows, each complete in itself and bounded in size. */
import { createEditReader, type Edit } from '../domain/edits.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { eventTextV1 } from '../domain/event-text.ts';
import {
  commandOf,
  elapsed,
  exitCodeOf,
  fullText,
  isBookkeeping,
  isErrorOf,
  shapeOf,
  statusWordOf,
  thoughtOf,
} from '../domain/event-words.ts';
import { filePatch, isBinary, statusOf } from '../domain/text-patch.ts';
import { parseTime } from '../text/time.ts';
import { clipped, type Clipped } from './clipped.ts';

export type StepKind = 'user' | 'agent' | 'command' | 'output' | 'edit' | 'action' | 'error' | 'status' | 'other';

export interface Step {
  kind: StepKind;
  /** RFC 3339, and the time since the beginning of the conversation; empty where it is not known. */
  timestamp: string;
  clock: string;
  /** One line. */
  title: string;
  /** Why the agent does it; empty when it does not say so. */
  thought: string;
  body: Clipped | null;
  /** How `body` reads. */
  form: 'text' | 'code' | 'diff';
  /** What went wrong, such as `exit code 1`. */
  failure: string | null;
}

/** An event of either dialect. Without `text` it is one of V1, whose text is made from its payload. */
export type PageEvent = Omit<ConversationEvent, 'type' | 'conversation_id' | 'text'> & { text?: string };
type TextEvent = PageEvent & { text: string };

export interface StepReader {
  /** The step that an event is; null: it is internal to the server, or repeats another. */
  read(event: PageEvent): Promise<Step | null>;
}

/** @param startedAt RFC 3339; without one the clock begins with the first event */
export function createStepReader(startedAt: string | null): StepReader {
  let firstMs = parseTime(startedAt);
  const readEdit = createEditReader();
  return {
    async read({ text, ...read }) {
      const event = { ...read, text: text ?? eventTextV1(read.kind, read.payload) };
      const edit = readEdit(event);
      if (isBookkeeping(event)) return null;
      const ms = parseTime(event.timestamp);
      firstMs ??= ms;
      const clock = ms === null || firstMs === null ? '' : elapsed(ms - firstMs);
      const step = { timestamp: event.timestamp ?? '', clock, thought: '', failure: null };
      return { ...step, ...(edit === null ? partsOf(event) : await editParts(edit)) };
    },
  };
}

type Parts = Pick<Step, 'kind' | 'title' | 'body' | 'form'> & Partial<Step>;

function partsOf(event: TextEvent): Parts {
  const text = fullText(event);
  const said = { title: '', body: clipped(text || event.text), form: 'text' as const };
  if (event.signal === 'message') return { kind: 'user', ...said };
  const status = statusWordOf(event);
  if (status !== null) return { kind: 'status', title: status.replaceAll('_', ' '), body: null, form: 'text' };
  const thought = thoughtOf(event).trim();
  switch (shapeOf(event)) {
    case 'message':
    case 'finish':
      return { kind: 'agent', ...said };
    case 'command':
      return { kind: 'command', title: '', thought, body: clipped(commandOf(event)), form: 'code' };
    case 'output':
      return {
        kind: 'output',
        title: '',
        body: text === '' ? null : clipped(text),
        form: 'code',
        failure: failureOf(event),
      };
    case 'error':
      return { kind: 'error', title: event.text, body: text === '' ? null : clipped(text), form: 'code' };
    case 'action':
      return {
        kind: 'action',
        title: event.text,
        thought: thought === event.text ? '' : thought,
        body: null,
        form: 'text',
      };
    case 'other':
      return { kind: 'other', title: event.text, body: null, form: 'text' };
  }
}

function failureOf(event: TextEvent): string | null {
  const exitCode = exitCodeOf(event);
  if (exitCode !== null && exitCode > 0) return `exit code ${exitCode}`;
  return isErrorOf(event) ? 'failed' : null;
}

/** What one edit changed; only its path where the event does not have the content. */
async function editParts({ path, before, after }: Edit): Promise<Parts> {
  const sides = { original: before ?? null, modified: after ?? null };
  if (after === undefined || before === undefined || isBinary(sides)) {
    return { kind: 'edit', title: path, body: null, form: 'diff' };
  }
  const patch = await filePatch({ path, status: statusOf(sides) }, sides);
  return { kind: 'edit', title: path, body: patch === null ? null : clipped(hunksIn(patch)), form: 'diff' };
}

/** Without the lines before the first hunk, which name the file. */
function hunksIn(patch: string): string {
  return patch.slice(Math.max(0, patch.indexOf('\n@@') + 1)).trimEnd();
}
