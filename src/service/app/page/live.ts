/** The page of a conversation and the stream that keeps it current, from the store and the event log. */
import {
  answerMessage,
  changesMessage,
  endMessage,
  factsMessage,
  livePageParts,
  stepsMessage,
} from '../../../page/live.ts';
import { createStepReader, type Step } from '../../../page/steps.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { pageChanges } from './changes.ts';
import { createEventReader, type EventReader } from './events.ts';
import { pageFacts } from './facts.ts';
import type { Viewer } from './viewers.ts';

/** The document, made while the events are read. */
export function livePage(context: AppContext, row: ConversationRow): AsyncGenerator<string, void, void> {
  const reader = createEventReader(context, row.id);
  let place = 0;
  return livePageParts(
    {
      conversation: pageFacts(row, context, reader),
      async *events() {
        for (let events = null; events === null || events.length > 0;) {
          ({ events, place } = reader.after(place));
          yield events;
        }
      },
      // A message of the agent during a run is not its final answer.
      answer: () => Promise.resolve(row.execution_status === 'running' ? null : reader.answer()),
      diff: () => pageChanges(context, row, reader),
    },
    () => place,
  );
}

export interface LiveFrom {
  /** The place of the newest event that the browser has. */
  place: number;
  /** It was connected before, and may lack an answer or changes that were to follow that event. */
  isAgain: boolean;
}

/** Messages for a page that is open, until the browser leaves, the conversation is deleted or the service ends. */
export async function* liveMessages(
  context: AppContext,
  id: string,
  from: LiveFrom,
  viewer: Viewer,
): AsyncGenerator<string, void, void> {
  const reader = createEventReader(context, id);
  const shown = { place: from.place, facts: '', isStale: from.isAgain };
  for (;;) {
    const row = context.store.conversations.get(id);
    if (row === null) return yield endMessage('This conversation was deleted.');
    yield* newSteps(reader, row, shown);
    const facts = factsMessage(pageFacts(row, context, reader));
    if (facts !== shown.facts) yield (shown.facts = facts);
    // Both are read from many events: not while the run adds to them.
    if (shown.isStale && row.execution_status !== 'running') {
      shown.isStale = false;
      yield answerMessage(reader.answer());
      yield changesMessage(await pageChanges(context, row, reader));
    }
    const why = await viewer.next();
    if (why === 'left') return;
    if (why === 'service-ends') {
      return yield endMessage('The local service has ended. This page opens again with acs conv open.');
    }
  }
}

async function* newSteps(
  reader: EventReader,
  { created_at }: ConversationRow,
  shown: { place: number; isStale: boolean },
): AsyncGenerator<string, void, void> {
  const stepReader = createStepReader(created_at);
  for (;;) {
    const { events, place } = reader.after(shown.place);
    if (events.length === 0) return;
    const steps: Step[] = [];
    for (const event of events) {
      const step = await stepReader.read(event);
      if (step !== null) steps.push(step);
    }
    Object.assign(shown, { place, isStale: true });
    yield stepsMessage(steps, place);
    // The answer shown is that to the message before.
    if (events.some(({ signal }) => signal === 'message')) yield answerMessage(null);
  }
}
