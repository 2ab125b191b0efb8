import { expect, it } from 'vitest';
import { pageChanges } from '../../../../src/service/app/page/changes.ts';
import { createEventReader } from '../../../../src/service/app/page/events.ts';
import type { ConversationDiff } from '../../../../src/page/diffs.ts';
import { appOfSuite, ended, startedTask } from '../support.ts';

const app = appOfSuite();

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
    args: { command: 'echo "ghp_$(printf a1B2%.0s 1 2 3 4 5 6 7 8 9)" > by-command.txt' },
  },
  { id: 3, source: 'agent', action: 'finish', args: { final_thought: 'Done.' } },
];

async function changes(id: string): Promise<ConversationDiff> {
  const row = app.store.conversations.get(id) ?? expect.fail();
  return await pageChanges(app.context, row, createEventReader(app.context, id));
}

it('are those of the workspace while its sandbox runs, and those in the edit events otherwise', async () => {
  const { app_conversation_id: id, sandbox_id: sandbox } = await startedTask(app, {
    replay_json: JSON.stringify(STEPS),
  });
  await ended(app, id ?? '');
  const ofWorkspace = await changes(id ?? '');
  expect(ofWorkspace).toMatchObject({
    source: 'workspace',
    omissions: [],
    files: [
      { path: 'by-command.txt', status: 'added', added: 1, removed: 0 },
      { path: 'notes.txt', status: 'added', added: 2, removed: 0 },
    ],
  });
  const patch = Buffer.from(ofWorkspace.patch).toString();
  expect(patch).toContain('+two');
  expect(patch).toContain('+<redacted>');
  expect(patch).not.toContain('a1B2a1B2');

  await app.call('POST', `/api/v1/sandboxes/${sandbox}/pause`);
  expect(await changes(id ?? '')).toMatchObject({
    source: 'edit-events',
    omissions: ['reconstructed from edit events; changes made by commands are not in it'],
    files: [{ path: 'notes.txt', status: 'added', added: 2, removed: 0 }],
  });
});
