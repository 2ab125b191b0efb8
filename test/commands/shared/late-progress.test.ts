/** Progress of commands that read much: the server answers a later page when it is shown. */
import { expect, it } from 'vitest';
import { event, ID } from '../../client/support/v1-server.ts';
import { until } from '../../support/test-clock.ts';
import { useIdleV1 } from '../../support/use-scripted.ts';

const at = useIdleV1();
const MANY = 150;

async function shows(line: string, path: string, text: string): Promise<void> {
  let err = '';
  at.v1.before = (asked) => {
    if (!asked.path.endsWith(path) || !asked.query.has('page_id')) return null;
    const reply = async () => {
      await until(() => err.includes(text));
      at.v1.before = () => null;
      return (await at.v1.handler(asked)) as { json: unknown };
    };
    return reply();
  };
  const onErr = (part: string) => void (err += part);
  await at.invoke({ args: line.split(' '), columns: 80, onErr });
  expect(err).toContain(text);
}

it('conv list --all-pages shows on a terminal how much it has read, after 2 s', async () => {
  for (let count = 0; count < MANY; count += 1)
    at.v1.addConversation({ id: `${count}`.padStart(32, 'a') });
  const line = 'conv list --all-pages --no-color';
  await shows(line, '/app-conversations/search', 'reading the list: 100 so far');
  await at.ends(line, { err: '' });
});

it('conv export to a file shows on a terminal how many events it has read', async () => {
  at.v1.addConversation({ id: ID, execution_status: 'finished' });
  at.v1.agentEvents = Array.from({ length: MANY }, () => event('MessageEvent'));
  await shows(`conv export ${ID} --as md -o run.md`, '/events/search', 'exporting: ');
});
