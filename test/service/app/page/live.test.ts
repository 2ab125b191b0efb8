import { mkdirSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { liveMessages, livePage } from '../../../../src/service/app/page/live.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { eventLogFile, openEventLog, type EventLog } from '../../../../src/service/storage/event-log.ts';
import { textOf } from '../../../support/export-record.ts';
import { appOfEachTest, conversationOfEachDialect } from '../support.ts';

const app = appOfEachTest();
let id: string;
let log: EventLog;

beforeEach(() => {
  const { v1, sandbox } = conversationOfEachDialect(app);
  id = v1;
  const folder = app.context.supervisor.eventsOf(sandbox);
  mkdirSync(folder, { recursive: true });
  log = openEventLog(eventLogFile(folder, v1));
  return () => {
    log.close();
  };
});

let count = 0;

function said(text: string, source: 'user' | 'agent' = 'agent'): StoredEvent {
  count += 1;
  const timestamp = `2026-01-01T00:00:00.${String(count).padStart(6, '0')}`;
  return {
    id: `event-${count}`,
    timestamp,
    source,
    kind: 'MessageEvent',
    llm_message: { content: [{ type: 'text', text }] },
  };
}

const add = (...events: StoredEvent[]): void => {
  for (const event of events) log.append(event);
};

function follow(place = 0, isAgain = false) {
  const viewer = app.context.pages.viewers.join();
  const messages = liveMessages(app.context, id, { place, isAgain }, viewer);
  const next = async (): Promise<string> => (await messages.next()).value ?? 'end of the stream';
  return { viewer, messages, next };
}

const row = () => app.store.conversations.get(id) ?? expect.fail();

it('the page has all events of the log, and the place of the newest one', async () => {
  add(said('do it', 'user'), ...Array.from({ length: 450 }, (_, number) => said(`step-${number}-`)));
  const page = await textOf(livePage(app.context, row()));
  expect(page.match(/<li /g)).toHaveLength(451);
  expect(page).toContain('data-after="451"');
  expect(page).toContain('step-449-');
});

it('the page of a run has no answer yet, whatever messages the agent has sent', async () => {
  add(said('do it', 'user'), said('I begin.'));
  app.store.conversations.update(id, { execution_status: 'running' });
  expect(await textOf(livePage(app.context, row()))).toContain('The agent has not answered the latest message.');
  app.store.conversations.update(id, { execution_status: 'finished' });
  expect(await textOf(livePage(app.context, row()))).not.toContain('The agent has not answered the latest message.');
});

it('a stream sends what follows the page, in order, and then each new event once', async () => {
  add(said('one'), said('two'), said('three'));
  const { next } = follow(1);
  const first = await next();
  expect(first).toMatch(/id: 3\n[^]*two[^]*three/);
  expect(first).not.toContain('one');
  expect(await next()).toContain('id="facts"');
  expect(await next()).toContain('id="answer"');
  expect(await next()).toContain('id="changes"');
  const waiting = next();
  add(said('four'));
  app.context.pages.viewers.notify();
  const second = await waiting;
  expect(second).toMatch(/^event: steps\nid: 4\n/);
  expect(second).not.toContain('three');
});

it('a change of the record is sent when the store has it, without a step', async () => {
  const { next } = follow();
  expect(await next()).toContain('>finished<');
  const waiting = next();
  app.store.conversations.update(id, { title: 'Another title' });
  expect(await waiting).toContain('Another title');
});

it('a message of the user removes the answer to the one before, and the end of the run brings the new one', async () => {
  app.store.conversations.update(id, { execution_status: 'running' });
  const { next } = follow();
  expect(await next()).toContain('>running<');
  const waiting = next();
  add(said('again', 'user'), said('the new answer'));
  app.context.pages.viewers.notify();
  expect(await waiting).toContain('event: steps');
  expect(await next()).toContain('The agent has not answered the latest message.');
  const ended = next();
  app.store.conversations.update(id, { execution_status: 'finished' });
  expect(await ended).toContain('>finished<');
  expect(await next()).toMatch(/id="answer"[^]*the new answer/);
});

it('a reconnection gets answer and changes again: it may have been cut before them', async () => {
  add(said('one'));
  const { next } = follow(1, true);
  expect(await next()).toContain('id="facts"');
  expect(await next()).toContain('id="answer"');
  expect(await next()).toContain('id="changes"');
});

it('what is shown has no key of the service and no token', async () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  add(said(`key ${app.context.key}, token ${token}`));
  const page = await textOf(livePage(app.context, row()));
  expect(page).toContain('&lt;redacted&gt;');
  expect(page).not.toContain(app.context.key);
  expect(page).not.toContain(token);
});

it('ends when the browser leaves', async () => {
  const { viewer, messages, next } = follow();
  await next();
  const waiting = messages.next();
  viewer.leave();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

it('reports that the conversation was deleted', async () => {
  const { messages, next } = follow();
  await next();
  const deleted = next();
  app.store.conversations.remove(id);
  expect(await deleted).toContain('This conversation was deleted.');
  expect((await messages.next()).done).toBe(true);
});

it('reports that the service has ended', async () => {
  const { messages, next } = follow();
  await next();
  const ended = next();
  app.context.pages.viewers.close();
  expect(await ended).toContain('The local service has ended.');
  expect((await messages.next()).done).toBe(true);
});
