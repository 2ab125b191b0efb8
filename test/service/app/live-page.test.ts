import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runStateV1, sandboxStatus } from '../../../src/client/v1/records.ts';
import type { ConversationDiff } from '../../../src/page/live.ts';
import * as live from '../../../src/service/app/live-page.ts';
import { EXECUTION_STATUSES } from '../../../src/protocol/agent-server/requests.ts';
import type { StoredEvent } from '../../../src/service/storage/conversation-state.ts';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import {
  eventLogFile,
  openEventLog,
  type EventLog,
} from '../../../src/service/storage/event-log.ts';
import { textOf } from '../../support/page.ts';
import { appOfEachTest, conversationOfEachDialect, ended, startedTask } from './support.ts';

const app = appOfEachTest();
let id: string;
let log: EventLog;

beforeEach(() => {
  const { v1, sandbox } = conversationOfEachDialect(app);
  id = v1;
  const folder = app.context.supervisor.folders.events(sandbox);
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

function follow(position = 0, isAgain = false) {
  const viewer = app.context.pages.join();
  const messages = live.liveMessages(app.context, id, { position, isAgain }, viewer);
  const next = async (): Promise<string> => (await messages.next()).value ?? 'end of the stream';
  return { viewer, messages, next };
}

const row = () => app.store.conversations.get(id) ?? expect.fail();

it('the page has the first events of the log, and loads those up to its newest one in parts', async () => {
  add(
    said('do it', 'user'),
    ...Array.from({ length: 450 }, (_, number) => said(`step-${number}-`)),
  );
  const page = await textOf(live.livePage(app.context, row()));
  expect(page).toContain('data-after="451"');
  add(said('later'));
  let all = page;
  for (;;) {
    const [more, after, until] = /<li id="more" data-range="after=(\d+)&amp;until=(\d+)".*\n/.exec(
      all,
    ) ?? [''];
    if (more === '') break;
    const range = { after: Number(after), until: Number(until) };
    all = all.replace(more, await live.moreOfPage(app.context, row(), range));
    expect(until).toBe('451');
  }
  const steps = (html: string) =>
    html.replace(/<section id="answer".*?<\/section>/s, '').match(/step-\d+-/g);
  expect(steps(page)).toHaveLength(199);
  expect(steps(all)).toEqual(Array.from({ length: 450 }, (_, number) => `step-${number}-`));
  expect(all).not.toContain('later');
  expect(all.match(/\n\+0\.0s<\/time>/g)).toHaveLength(451);
});

it('the page of a run has no answer yet, whatever messages the agent has sent', async () => {
  add(said('do it', 'user'), said('I begin.'));
  app.store.conversations.update(id, { execution_status: 'running' });
  expect(await textOf(live.livePage(app.context, row()))).toContain(
    'The agent has not answered the latest message.',
  );
  app.store.conversations.update(id, { execution_status: 'finished' });
  expect(await textOf(live.livePage(app.context, row()))).not.toContain(
    'The agent has not answered the latest message.',
  );
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
  app.context.pages.notify();
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
  app.context.pages.notify();
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
  const page = await textOf(live.livePage(app.context, row()));
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

it.each([
  [
    'the conversation was deleted',
    () => app.store.conversations.remove(id),
    'This conversation was deleted.',
  ],
  ['the service has ended', () => app.context.pages.close(), 'The local service has ended.'],
])('reports that %s, and ends', async (_, change, words) => {
  const { messages, next } = follow();
  await next();
  const last = next();
  change();
  expect(await last).toContain(words);
  expect((await messages.next()).done).toBe(true);
});

describe('the facts on the page', () => {
  const SANDBOXES = ['RUNNING', 'PAUSED', 'ERROR', 'STARTING'] as const;
  const facts = (
    more: Partial<ConversationRow>,
    sandbox: (typeof SANDBOXES)[number] | null,
    error: object | null = null,
  ) => {
    const found = row();
    if (sandbox !== null) app.store.sandboxes.update(found.sandbox_id ?? '', { status: sandbox });
    const sandbox_id = sandbox === null ? null : found.sandbox_id;
    const events = { newest: () => error as Record<string, unknown> | null };
    return live.pageFacts({ ...found, sandbox_id, ...more }, app.context, events);
  };

  it.each(SANDBOXES)('have the status of conv show in a sandbox that is %s', (sandbox) => {
    for (const word of EXECUTION_STATUSES) {
      const { status, waiting_for } = facts({ execution_status: word }, sandbox);
      expect([word, { status, waiting_for }]).toEqual([
        word,
        runStateV1(word, sandboxStatus(sandbox)),
      ]);
    }
  });

  it('are archived when the sandbox is gone and the run had not ended', () => {
    expect(facts({ execution_status: 'paused' }, null).status).toBe('archived');
    expect(facts({ execution_status: 'finished' }, null).status).toBe('finished');
  });

  it('are those of the record, with the password of a repository left out', () => {
    const repository = 'https://me:hunter22@git.example/a.git';
    expect(facts({ title: 'A run', repository, branch: 'main' }, 'RUNNING')).toMatchObject({
      id,
      title: 'A run',
      repository: 'https://git.example/a.git',
      branch: 'main',
      url: null,
      cost_usd: null,
      tokens: null,
    });
  });

  it('name why a run failed', () => {
    const error = { code: 'Crash', detail: 'it broke' };
    expect(facts({ execution_status: 'error' }, 'RUNNING', error).reason).toEqual({
      code: 'Crash',
      text: 'it broke',
    });
    expect(facts({ execution_status: 'error' }, 'RUNNING').reason?.text).toBe('no reason is known');
    expect(facts({ execution_status: 'stuck' }, 'RUNNING').reason?.code).toBe('stuck');
    const unstarted = {
      start_state: 'failed',
      start_detail: 'no such branch',
      execution_status: null,
    } as const;
    expect(facts(unstarted, null)).toMatchObject({
      status: 'failed',
      reason: { text: 'no such branch' },
    });
    expect(facts({ execution_status: 'finished' }, 'RUNNING', error).reason).toBeNull();
  });
});

const STEPS = [
  { id: 0, source: 'user', action: 'message', args: { content: 'Please work' } },
  {
    id: 1,
    source: 'agent',
    action: 'edit',
    args: { impl_source: 'oh_aci', command: 'create', path: 'notes.txt', file_text: 'one\ntwo\n' },
  },
  {
    id: 2,
    source: 'agent',
    action: 'run',
    args: {
      command:
        'echo "ghp_$(printf a1B2%.0s 1 2 3 4 5 6 7 8 9)" > by-command.txt; echo "$CUSTOM" > ' +
        'custom.txt',
    },
  },
  { id: 3, source: 'agent', action: 'finish', args: { final_thought: 'Done.' } },
];

async function changes(of: string): Promise<ConversationDiff> {
  const found = app.store.conversations.get(of) ?? expect.fail();
  return await live.pageChanges(app.context, found, new live.EventReader(app.context, of));
}

it('the changes on the page are those of the workspace, also while its sandbox is paused, else those in the edit events', async () => {
  const { app_conversation_id: started, sandbox_id: sandbox } = await startedTask(app, {
    replay_json: JSON.stringify(STEPS),
    secrets: { CUSTOM: 'plain words of a secret\nand its second line' },
  });
  await ended(app, started ?? '');
  const ofWorkspace = await changes(started ?? '');
  expect(ofWorkspace).toMatchObject({
    source: 'workspace',
    omissions: [],
    files: [
      { path: 'by-command.txt', status: 'added', added: 1, removed: 0 },
      { path: 'custom.txt', status: 'added', added: 2, removed: 0 },
      { path: 'notes.txt', status: 'added', added: 2, removed: 0 },
    ],
  });
  const patch = Buffer.from(ofWorkspace.patch).toString();
  expect(patch).toContain('+two');
  expect(patch).toContain('+<redacted>');
  expect(patch).not.toContain('a1B2a1B2');
  expect(patch).not.toMatch(/plain words|second line/);

  await app.call('POST', `/api/v1/sandboxes/${sandbox}/pause`);
  expect(await changes(started ?? '')).toEqual(ofWorkspace);
  // As an agent may do.
  await rm(path.join(app.context.supervisor.folders.workspace(sandbox ?? ''), '.git'), {
    recursive: true,
  });
  expect(await changes(started ?? '')).toEqual(ofWorkspace);
  await rm(app.context.supervisor.folders.workspace(sandbox ?? ''), { recursive: true });
  expect(await changes(started ?? '')).toMatchObject({
    source: 'edit-events',
    omissions: [
      'reconstructed from edit events; changes made by commands are not included',
      expect.stringContaining('the sandbox is paused'),
    ],
    files: [{ path: 'notes.txt', status: 'added', added: 2, removed: 0 }],
  });
});
