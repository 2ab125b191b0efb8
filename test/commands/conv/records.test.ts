/** The verbs of conv that read and change records: list, show, rename and delete. */
import { beforeEach, describe, expect, it } from 'vitest';
import { finish, OTHER_ID, status, userMessage } from '../../client/support/v1-server.ts';
import { idleClock, TestClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const at = useV1({
  noun: 'conv',
  clock: () => new TestClock({ movedBy: 'sleeps', startMs: NOON, limitMs: 60_000 }),
});
const FIRST = `aaaa${'1'.repeat(28)}`;
const SECOND = `aaaa${'2'.repeat(28)}`;
const BUSY = `bbbb${'3'.repeat(28)}`;
const UNKNOWN = 'f'.repeat(32);
const ended = {
  execution_status: 'finished',
  created_at: '2026-11-21T10:00:00Z',
  updated_at: '2026-11-21T11:00:00Z',
};

beforeEach(() => {
  at.v1.agentEvents.push(userMessage('do it'), finish('done'), status('finished'));
  at.v1.addConversation({
    ...ended,
    id: FIRST,
    title: 'The first',
    sandbox_id: 'box1',
    selected_repository: 'acme/a',
  });
  at.v1.addConversation({ ...ended, id: SECOND, title: 'The second\nof two', sandbox_id: 'box2' });
  const before = at.v1.before;
  at.v1.before = (asked) => {
    const [, id = ''] = /^\/api\/v1\/app-conversations\/([\w-]+)$/.exec(asked.path) ?? [];
    const record = at.v1.conversations.get(id.replaceAll('-', ''));
    if (record === undefined) return before(asked);
    if (asked.method === 'PATCH') return { json: Object.assign(record, asked.body) };
    if (asked.method === 'DELETE')
      return { json: at.v1.conversations.delete(String(record['id'])) };
    return before(asked);
  };
});

const ids = (...all: string[]) => all.map((id) => `${id}\n`).join('');

describe('conv list', () => {
  at.rows({
    'prints a table with short ids, one line for each title and ages on a terminal': {
      acs: 'list --no-color',
      columns: 100,
      out: [
        'ID        STATUS    TITLE              REPOSITORY  BRANCH  UPDATED AT',
        'aaaa2222  finished  The second of two                      1h ago',
        'aaaa1111  finished  The first          acme/a              1h ago',
        '',
      ].join('\n'),
    },
    'prints whole values between tabs in a pipe': {
      acs: 'list -L 1',
      out: new RegExp(
        `^${SECOND}\tfinished\tThe second\\\\nof ` +
          `two\t\t\topenai/gpt-4o\t2026-11-21T10:00:00Z\t2026-11-21T11:`,
      ),
    },
    'prints one object per line as ndjson': {
      acs: 'list --format ndjson',
      out: new RegExp(`^{"id":"${SECOND}".*}\n{"id":"${FIRST}".*}\n$`),
    },
    'prints ids with -q': { acs: 'list -q', out: ids(SECOND, FIRST) },
    'stops at the limit and reports that there are more': {
      acs: 'list -L 1 --json',
      out: { items: [{ id: SECOND }], has_more: true },
      err: '--all-pages',
    },
    'says on a terminal that none match': {
      acs: 'list --status stuck',
      columns: 80,
      out: '',
      err: /^none match\n$/,
    },
    'selects by status': { acs: 'list --status finished -q', out: ids(SECOND, FIRST) },
    'prints an empty list when nothing is selected': {
      acs: 'list --status stuck --json',
      out: '{\n  "items": [],\n  "has_more": false\n}\n',
    },
    'selects by age': { acs: 'list --older-than 1d -q', out: '' },
    'selects by repository': { acs: 'list --repo acme/* -q', out: ids(FIRST) },
    'prints the members of --fields': {
      acs: 'list --fields title,status',
      out: 'The second\\nof two\tfinished\nThe first\tfinished\n',
    },
    'names the known members when one is unknown': {
      acs: 'list --fields colour',
      code: 2,
      err: 'execution_status',
    },
  });

  it.each([
    [401, 4],
    [429, 7],
    [503, 9],
    [501, 12],
  ])(
    'a refusal with %i exits %i, which acs help exit-codes names as a code of every command',
    async (status, code) => {
      at.v1.before = ({ path }) =>
        path.endsWith('/search') ? { status, json: { detail: 'no' } } : null;
      await at.ends('list', { code });
      const { out } = await at.invoke({ args: ['help', 'exit-codes'] });
      expect(
        /^The exit codes of every command are (.+)\.$/m.exec(out)?.[1]?.split(/, | and /),
      ).toContain(String(code));
    },
  );

  it('selects by the spec of the sandbox', async () => {
    at.v1.addSandbox('box1', { sandbox_spec_id: 'other' });
    at.v1.addSandbox('box2');
    await at.ends('list --spec other -q', { out: ids(FIRST) });
  });

  it('prints exactly the members of the contract as JSON', async () => {
    const { items, has_more } = await at.json<{ items: object[]; has_more: boolean }>('list');
    expect(has_more).toBe(false);
    expect(Object.keys(items[0] ?? {})).toEqual([
      ...[
        'id',
        'start_task_id',
        'title',
        'status',
        'reason',
        'waiting_for',
        'dialect',
        'execution_status',
      ],
      ...[
        'sandbox_id',
        'sandbox_status',
        'repository',
        'branch',
        'git_provider',
        'model',
        'created_at',
      ],
      ...['updated_at', 'cost_usd', 'tokens', 'url'],
    ]);
  });
});

describe('an id argument', () => {
  it.each([
    ['with dashes', FIRST.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
    ['in capitals', FIRST.toUpperCase()],
    ['by its beginning', 'aaaa1'],
    ['in a URL', `https://acs.example/conversations/${FIRST}#files`],
  ])(
    'is found %s',
    async (_, word) => void (await at.ends(`show ${word} -q`, { out: `${FIRST}\n` })),
  );

  at.rows({
    'that is an ambiguous prefix exits 2 and lists the candidates': {
      acs: 'show aaaa --json',
      code: 2,
      err: `"candidates":["${SECOND}","${FIRST}"]`,
    },
    'that matches nothing exits 5 and names the list': {
      acs: 'show bbbb',
      code: 5,
      err: /begins with bbbb\n.*\n {2}list them with: acs conv list\n$/,
    },
    'that is unknown exits 5': { acs: `show ${UNKNOWN}`, code: 5 },
    '@last exits 5 when nothing was started': { acs: 'show @last', code: 5 },
    'that is empty, as of an empty variable, is refused': { acs: ['wait', ''], code: 2 },
  });

  it('that matches none of the newest 1000 exits 5 and names how many were searched', async () => {
    for (let n = 0; n < 1000; n += 1)
      at.v1.addConversation({ id: n.toString(16).padStart(32, '0') });
    await at.ends('show bbbb', {
      code: 5,
      err: 'the newest 1000 were searched; an older one needs its full id',
    });
  });

  it.each(['abc', 'a b', 'https://acs.example/'])('%j is refused as malformed', async (word) => {
    for (const verb of ['show', 'follow', 'wait', 'events', 'result', 'diff', 'stop'])
      await at.ends([verb, word], { code: 2, requests: 0 });
  });
});

describe('conv show', () => {
  at.rows({
    'prints rows of key and value on a terminal': {
      acs: `show ${FIRST} --no-color`,
      columns: 100,
      out: new RegExp(
        [
          `^id              ${FIRST}`,
          'title           The first',
          'status          finished',
          'sandbox id      box1',
          'sandbox status  running',
          'repository      acme/a',
          'model           openai/gpt-4o',
          'created at      2026-11-21T10:00:00Z \\(2h ago\\)',
          'updated at      2026-11-21T11:00:00Z \\(1h ago\\)',
          'url ',
        ].join('\n'),
      ),
    },
    '--exit-status exits with the code of the status': { acs: `show ${FIRST} --exit-status` },
    'prints several as a list, in the order of their ids': {
      acs: `show ${SECOND} ${FIRST} --json --fields id`,
      out: { items: [{ id: SECOND }, { id: FIRST }], has_more: false },
    },
    'takes ids from stdin, prints those that can be read, and exits 1 with the others': {
      acs: 'show - -q',
      stdin: `${FIRST}\n${UNKNOWN}\n`,
      code: 1,
      out: `${FIRST}\n`,
      err: `1 of 2 cannot be shown: ${UNKNOWN}: `,
    },
  });

  it('--exit-status of a run in progress exits 6', async () => {
    at.v1.addConversation({ id: BUSY });
    await at.ends(`show ${BUSY} --exit-status`, { code: 6 });
    await at.ends(`show ${FIRST} ${BUSY} --exit-status`, { code: 6 });
    await at.ends(`show ${BUSY}`, {});
  });

  it('reports a finished run as finished when its sandbox is paused', async () => {
    at.v1.appEvents.push(...at.v1.agentEvents);
    const gone = { execution_status: null, conversation_url: null, session_api_key: null };
    at.v1.addConversation({ id: BUSY, sandbox_status: 'PAUSED', ...gone });
    await at.ends(`show ${BUSY} --json`, { out: { status: 'finished', sandbox_status: 'paused' } });
  });
});

describe('a start in progress', () => {
  /** The record of it. */
  const task = (request: object, members: object = {}) =>
    at.v1.tasks.set(OTHER_ID, {
      id: OTHER_ID,
      status: 'WAITING_FOR_SANDBOX',
      detail: null,
      app_conversation_id: null,
      sandbox_id: null,
      agent_server_url: null,
      request,
      created_at: new Date(NOON).toISOString(),
      updated_at: new Date(NOON).toISOString(),
      ...members,
    });

  it('is shown by the id that was chosen for its conversation', async () => {
    task({ conversation_id: BUSY });
    await at.ends(`show ${OTHER_ID} --json`, {
      out: { id: BUSY, start_task_id: OTHER_ID, status: 'starting' },
    });
    await at.ends(`show ${OTHER_ID} -q`, { out: `${BUSY}\n` });
    await at.ends(`wait ${OTHER_ID} --wait-timeout 1s --json`, {
      code: 124,
      err: `"id":"${BUSY}"`,
      clock: idleClock(),
    });
  });

  it('has the id null in JSON and no row in a table when the server chooses the id later', async () => {
    task({});
    await at.ends(`show ${OTHER_ID} --json`, { out: { id: null, start_task_id: OTHER_ID } });
    await at.ends(`show ${OTHER_ID} -q`, { out: `${OTHER_ID}\n` });
    expect((await at.ends(`show ${OTHER_ID} --format table`, {})).out).not.toMatch(/^id/m);
  });

  it('has no id but that of the start task when it failed', async () => {
    task({ conversation_id: BUSY }, { status: 'ERROR', detail: 'no room' });
    await at.ends(`show ${OTHER_ID} --json`, { out: { id: null, status: 'failed' } });
    await at.ends(`show ${OTHER_ID}`, { out: new RegExp(`^${OTHER_ID}\tfailed\t`) });
  });
});

describe('conv rename', () => {
  it('changes the title, and reports no change for the same title', async () => {
    await at.ends(`rename ${FIRST} Another --json`, { out: { title: 'Another', changed: true } });
    await at.ends(`rename ${FIRST} Another --json`, { out: { title: 'Another', changed: false } });
    expect(at.writes()).toHaveLength(1);
  });

  it.each([' ', 'x'.repeat(201)])('exits 2 for the title %j', async (title) => {
    await at.ends(['rename', FIRST, title], { code: 2, writes: [] });
  });
});

describe('conv delete', () => {
  beforeEach(() => void at.v1.addConversation({ id: BUSY, sandbox_id: 'box3' }));

  it('deletes a conversation, which is exit 5 from then on', async () => {
    await at.ends(`delete ${FIRST} -y --json`, { out: { id: FIRST, changed: true } });
    await at.ends(`show ${FIRST}`, { code: 5 });
    await at.ends(`delete ${FIRST} -y`, { code: 5 });
    await at.ends(`delete ${FIRST} -y --ignore-not-found --json`, {
      out: { changed: false, status: 'deleted' },
    });
  });

  it('leaves no @last when it deletes the last one, and keeps it else', async () => {
    await at.ends(`new x --no-repo --id ${FIRST}`, { writes: [] });
    await at.ends(`delete ${SECOND} -y`, {});
    await at.ends('show @last -q', { out: ids(FIRST) });
    await at.ends('delete @last -y', {});
    await at.ends('show @last', { code: 5, err: '@last is not set' });
  });

  it('of a selection keeps runs in progress, unless forced', async () => {
    await at.ends('delete --all -y --json', { code: 1, out: { matched: 3, failed: 1 } });
    expect([...at.v1.conversations.keys()]).toEqual([BUSY]);
    await at.ends('delete --all -y --force', {});
    expect(at.v1.conversations.size).toBe(0);
  });

  at.rows({
    'exits 2 without --yes off a terminal': { acs: `delete ${FIRST}`, code: 2, writes: [] },
    '--dry-run prints the request and sends nothing': {
      acs: `delete ${FIRST} --dry-run --json`,
      out: { requests: [{ method: 'DELETE' }] },
      writes: [],
    },
    '--dry-run --ignore-not-found prints no request for an unknown id': {
      acs: `delete ${UNKNOWN} --dry-run --ignore-not-found --json`,
      out: { dry_run: true, requests: [] },
    },
    'of several lists those that failed': {
      acs: `delete ${FIRST} ${UNKNOWN} -y --json`,
      code: 1,
      out: { matched: 2, failed: 1 },
    },
    'exits 0 when a selector matches nothing': {
      acs: 'delete --status stuck -y --json',
      out: { items: [], matched: 0, failed: 0 },
    },
    'exits 2 without ids and selectors': { acs: 'delete -y', code: 2 },
    'exits 2 with ids and selectors': { acs: 'delete @last --all -y', code: 2 },
    'and stop need an id or a selector': { acs: 'stop', code: 2 },
  });
});
