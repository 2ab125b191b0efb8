/**
 * Events over several pages: what is requested, what is redacted, and what is lost when a page
 * fails.
 */
import { beforeEach, expect, it } from 'vitest';
import { event, ID, KEY, SANDBOX_KEY, userMessage } from '../client/support/v1-server.ts';
import { useV1 } from '../support/use-scripted.ts';

const EVENTS = 250;
const PAGES = 3;
const TOKEN = 'ghp_0123456789abcdefghij0123456789abcdef';

const at = useV1();
let requests: (string | null)[];

beforeEach(() => {
  at.v1.addConversation({ execution_status: 'finished' });
  requests = [];
  at.v1.before = ({ path, query }) => {
    if (path.endsWith('/events/search')) requests.push(query.get('page_id'));
    return null;
  };
  for (let index = 0; index < EVENTS; index++)
    at.v1.agentEvents.push(userMessage(`message ${index}`));
  const [first, second, third] = [0, 120, 240].map((index) => at.v1.agentEvents[index]);
  Object.assign(first ?? {}, {
    llm_message: { role: 'user', content: [{ type: 'text', text: `use ${TOKEN} now` }] },
  });
  Object.assign(second ?? {}, {
    [KEY]: 'in a name',
    deep: [[{ list: ['--token', 'word-after-the-flag', KEY] }]],
  });
  Object.assign(
    third ?? {},
    event('MessageEvent', { environment: { HOME: 'hidden-home' }, note: SANDBOX_KEY }),
  );
});
const SECRETS = [TOKEN, KEY, SANDBOX_KEY, 'word-after-the-flag', 'hidden-home'];

it.each(['json', 'ndjson', 'tsv', 'table'])(
  'conv events --format %s shows no secret on any page',
  async (format) => {
    const { out } = await at.ends(
      `conv events ${ID} --format ${format} --fields id,text,payload`,
      {},
    );
    for (const secret of SECRETS) expect(out).not.toContain(secret);
    expect(out.match(/message \d+/g)?.length).toBeGreaterThanOrEqual(EVENTS - 2);
  },
);

it('conv events requests each page once, and writes the events in the order of the server', async () => {
  const { out } = await at.ends(`conv events ${ID} --format ndjson --fields id`, {});
  const ids = out
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { id: string }).id]));
  expect(ids).toEqual(at.v1.agentEvents.map(({ id }) => id));
  expect(requests).toHaveLength(PAGES);
  expect(new Set(requests).size).toBe(PAGES);
});

it('conv events that needs the first page alone requests no other', async () => {
  await at.ends(`conv events ${ID} --limit 5 --format ndjson`, {});
  expect(requests).toHaveLength(1);
});

it('conv events writes what came before a page that cannot be read', async () => {
  at.v1.before = ({ path, query }) => {
    if (!path.includes('/events/search')) return null;
    const page = query.get('page_id');
    if (page !== null) requests.push(page);
    return new Set(requests).size >= PAGES - 1
      ? { status: 400, json: { detail: 'no such page' } }
      : null;
  };
  const { out } = await at.ends(`conv events ${ID} --format ndjson --fields id`, { code: 9 });
  expect(out.split('\n').filter((line) => line !== '')).toHaveLength(200);
});
