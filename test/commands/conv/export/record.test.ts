import { afterEach, beforeEach, expect, it } from 'vitest';
import { ID, userMessage } from '../../../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../../traps/support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not in it';

it('an export has the diff of the edit events when the workspace of a running sandbox cannot be compared', async () => {
  trap.addConversation({ execution_status: 'finished' });
  const observation = {
    kind: 'FileEditorObservation',
    path: '/workspace/a',
    old_content: 'one\n',
    new_content: 'two\n',
  };
  const edit = {
    id: 'e2',
    timestamp: '2026-11-21T10:00:01',
    source: 'environment',
    kind: 'ObservationEvent',
    observation,
  };
  trap.agentEvents.push(userMessage('go'), edit);
  const { code, out, err } = await trap.acs('conv', 'export', ID, '--as', 'ndjson');
  const diff = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
  expect({ code, diff }).toMatchObject({
    code: 0,
    diff: { source: 'edit-events', files: [{ path: 'a', status: 'modified', added: 1, removed: 1 }] },
  });
  expect(err).toMatch(/^warning: the workspace could not be compared: /);
  expect(err).toContain(`warning: the diff is ${RECONSTRUCTED}\n`);
});
