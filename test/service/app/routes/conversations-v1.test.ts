import { mkdirSync } from 'node:fs';
import { unzipSync } from 'fflate';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/service/app/app.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { eventLogFile, openEventLog } from '../../../../src/service/storage/event-log.ts';
import {
  appOfEachTest,
  appOfSuite,
  conversation,
  conversationOfEachDialect,
  ended,
  expectAnswers,
  KEY,
  startedTask,
  until,
  untilShown,
  type AppOfTests,
  type Shown,
} from '../support.ts';

const V1 = '/api/v1/app-conversations';
const UNKNOWN = 'f'.repeat(32);
const MESSAGE = { content: [{ type: 'text', text: 'and now?' }] };

function writeLog(
  { context }: AppOfTests,
  ids: Record<'v1' | 'sandbox', string>,
  events: StoredEvent[],
): void {
  const folder = context.supervisor.folders.events(ids.sandbox);
  mkdirSync(folder, { recursive: true });
  const log = openEventLog(eventLogFile(folder, ids.v1));
  for (const event of events) log.append(event);
  log.close();
}

describe('a conversation of V1', () => {
  const app = appOfEachTest();

  it('has no skills, and is searched, counted, renamed and deleted with its sandbox', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await ended(app, id);
    expect((await conversation(app, id))?.title).toBe('Show what you can do.');
    await expectAnswers(app, [
      [`PATCH ${V1}/${id}`, { title: 'Renamed by hand' }, 200],
      [
        `POST ${V1}/${id}/send-message`,
        MESSAGE,
        200,
        { success: true, sandbox_status: 'RUNNING', message: null },
      ],
    ]);
    await untilShown(app, id, { execution_status: 'error' }); // the replay has no further answer
    const found = { items: [{ id, title: 'Renamed by hand' }], next_page_id: null };
    const error = expect.stringMatching(/^Conversation \S+ not found$/) as string;
    await expectAnswers(app, [
      [`${V1}/${id}/skills`, undefined, 200, { skills: [] }],
      [`${V1}/${UNKNOWN}/skills`, undefined, 404, { error }],
      ['/api/v1/skills/search', undefined, 200, { items: [], next_page_id: null }],
      [`${V1}/search?title__contains=renamed&limit=1`, undefined, 200, found],
      [`${V1}/count?title__contains=renamed`, undefined, 200, 1],
      [`${V1}/count?created_at__lt=2020-01-01T00:00:00Z`, undefined, 200, 0],
      [`DELETE ${V1}/${id}`, undefined, 200, { success: true }],
      [`${V1}?ids=${id}`, undefined, 200, [null]],
      [`DELETE ${V1}/${id}`, undefined, 404],
    ]);
    await until(
      () => app.get<unknown[]>(`/api/v1/sandboxes?id=${task.sandbox_id}`),
      ([sandbox]) => sandbox === null,
    );
  });

  it('gets the whole model settings of a profile at app server and agent server while its sandbox runs', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const [id, sandbox] = [task.app_conversation_id ?? '', task.sandbox_id ?? ''];
    const llm = {
      model: 'openai/second',
      api_key: 'k-second',
      base_url: 'https://second.example/v1',
    };
    const { supervisor } = app.context;
    const send = supervisor.send.bind(supervisor);
    const sent: unknown[] = [];
    supervisor.send = (to, request) => {
      if (request.path.endsWith('/switch_llm')) sent.push(request.json);
      return send(to, request);
    };
    const switched = `POST ${V1}/${id}/switch_profile`;
    await expectAnswers(app, [
      ['POST /api/v1/settings/profiles/second', { llm }, 201],
      [switched, { profile_name: 'second' }, 200, { success: true }],
      [`${V1}?ids=${id}`, undefined, 200, [{ llm_model: 'openai/second' }]],
      [switched, { profile_name: 'nope' }, 404, { detail: "Profile 'nope' not found" }],
      [switched, { profile_name: '' }, 422],
      [`POST ${V1}/${UNKNOWN}/switch_profile`, { profile_name: 'second' }, 404],
      [`POST ${V1}/${id}/switch_acp_model`, { model: 'x' }, 400],
    ]);
    expect(sent).toEqual([{ llm }]);
    const { body } = await supervisor.send(sandbox, {
      method: 'GET',
      path: `/api/conversations/${id}`,
    });
    expect(JSON.parse(body.toString())).toMatchObject({
      agent: { llm: { model: 'openai/second' } },
    });
    await supervisor.pause(sandbox);
    await expectAnswers(app, [
      [switched, { profile_name: 'second' }, 409],
      [
        `POST ${V1}/${id}/send-message`,
        MESSAGE,
        409,
        { detail: expect.stringContaining(`${sandbox}/resume`) as string },
      ],
      [`POST ${V1}/${id}/switch_acp_model`, { model: 'x' }, 409],
    ]);
  });

  it('is of V1 alone: a conversation and a start of V0 are unknown', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const own = task.app_conversation_id ?? '';
    const created = await app.post('/api/conversations', { replay_json: 'demo' });
    const { conversation_id: other } = created.body as { conversation_id: string };
    const [hidden] = app.store.startTasks.page({ dialect: 'V0' }, 'CREATED_AT', 1, 0);
    await expectAnswers(app, [
      [`${V1}/count`, undefined, 200, 1],
      [`${V1}?ids=${other}&ids=${own}`, undefined, 200, [null, { id: own }]],
      [
        `${V1}/start-tasks?ids=${hidden?.id ?? ''}&ids=${task.id}`,
        undefined,
        200,
        [null, { id: task.id }],
      ],
      [
        `/api/v1/conversation/${other}/events/search`,
        undefined,
        200,
        { items: [], next_page_id: null },
      ],
      [`${V1}/${other}/file`, undefined, 200, ''],
      [`${V1}/${other}/download`, undefined, 404],
      [`PATCH ${V1}/${other}`, { title: 'x' }, 404],
      [`DELETE ${V1}/${other}`, undefined, 404],
      [`POST ${V1}/${other}/send-message`, MESSAGE, 404],
      [`POST ${V1}`, { replay_json: 'demo', conversation_id: other }, 409],
      [`POST ${V1}`, { replay_json: 'demo', parent_conversation_id: other }, 400],
    ]);
    for (const path of [`${V1}/search`, `${V1}/start-tasks/search`]) {
      expect((await app.get<{ items: unknown[] }>(path)).items).toHaveLength(1);
    }
  });
});

describe('a stored conversation of V1', () => {
  const app = appOfSuite();
  let ids: ReturnType<typeof conversationOfEachDialect>;
  beforeAll(() => {
    ids = conversationOfEachDialect(app);
  });

  it('is refused what is not valid', async () => {
    const detail = 'Conversation not found: ffffffff-ffff-ffff-ffff-ffffffffffff';
    await expectAnswers(app, [
      [`PATCH ${V1}/${ids.v1}`, { selected_repository: 'nonsense' }, 422],
      [`${V1}/search?limit=101`, undefined, 422],
      [V1, undefined, 422],
      [`${V1}?ids=nope`, undefined, 400],
      [`${V1}/${ids.v1}`, undefined, 405],
      [`POST ${V1}/${ids.v1}/send-message`, { content: [] }, 422],
      [`POST ${V1}/${UNKNOWN}/send-message`, MESSAGE, 404],
      [`${V1}/${UNKNOWN}/download`, undefined, 404, { detail }],
      [`${V1}/nonsense/download`, undefined, 422],
    ]);
  });

  it('shows a changed repository without user and password', async () => {
    const change = { selected_repository: 'https://me:planted-secret@host.example/a/b' };
    const shown = expect.objectContaining({ selected_repository: 'https://host.example/a/b' });
    await expectAnswers(app, [
      [`PATCH ${V1}/${ids.v1}`, change, 200, shown],
      [`${V1}?ids=${ids.v1}`, undefined, 200, [shown]],
      [`PATCH ${V1}/${ids.v1}`, { selected_repository: null }, 200],
    ]);
  });

  it('has an empty file where the conversation or its sandbox cannot be reached', async () => {
    for (const id of [ids.v1, UNKNOWN]) {
      await expectAnswers(app, [[`${V1}/${id}/file?file_path=/etc/passwd`, undefined, 200, '']]);
    }
  });

  it('has an archive with its record without a key, and each event of a long log once, in order', async () => {
    const archive = async (): Promise<Record<string, unknown>> => {
      const headers = { 'X-Session-API-Key': KEY };
      const answer = await createApp(app.context).request(
        `http://127.0.0.1${V1}/${ids.v1}/download`,
        { headers },
      );
      expect(answer.headers.get('content-disposition')).toBe(
        `attachment; filename="conversation_${ids.v1}.zip"`,
      );
      const files = Object.entries(unzipSync(new Uint8Array(await answer.arrayBuffer())));
      return Object.fromEntries(
        files.map(([name, bytes]) => [name, JSON.parse(Buffer.from(bytes).toString()) as unknown]),
      );
    };
    const { 'meta.json': meta, ...none } = await archive();
    expect(meta).toMatchObject({ id: ids.v1, sandbox_status: 'RUNNING' });
    expect(meta).not.toHaveProperty('session_api_key');
    expect(none).toEqual({});
    const numbers = Array.from({ length: 1001 }, (_, number) => number);
    writeLog(
      app,
      ids,
      numbers.map((number) => {
        const timestamp = new Date(number * 1000).toISOString().slice(0, -1);
        return { id: `e${number}`, timestamp, source: 'agent', kind: 'MessageEvent' };
      }),
    );
    const { 'meta.json': _, ...events } = await archive();
    const names = numbers.map(
      (number) => `event_${String(number).padStart(6, '0')}_e${number}.json`,
    );
    expect(Object.keys(events)).toEqual(names);
    expect(events['event_001000_e1000.json']).toMatchObject({ id: 'e1000' });
  });
});

/** Two kinds by turns and a state update, a second apart. */
const EVENTS: StoredEvent[] = [0, 1, 2, 3, 4, 5].map((number) => ({
  id: `event-${number}`,
  timestamp: `2026-01-01T00:00:0${number}.000000`,
  source: 'agent',
  kind:
    number === 5
      ? 'ConversationStateUpdateEvent'
      : number % 2 === 0
        ? 'MessageEvent'
        : 'ActionEvent',
}));

describe('the events of a conversation of V1', () => {
  const app = appOfSuite();
  let ids: ReturnType<typeof conversationOfEachDialect>;
  beforeAll(() => {
    ids = conversationOfEachDialect(app);
    writeLog(app, ids, EVENTS);
  });
  const found = async (
    path: string,
    headers?: Record<string, string>,
  ): Promise<[numbers: number[], next: unknown]> => {
    const { items, next_page_id } = (await app.call('GET', path, undefined, headers)).body as {
      items: StoredEvent[];
      next_page_id: string | null;
    };
    return [items.map(({ id }) => Number(id.replace('event-', ''))), next_page_id];
  };
  const search = (id = ids.v1): string => `/api/v1/conversation/${id}/events/search`;
  const shared = (query = '', id = ids.v1): string =>
    `/api/shared-events/search?conversation_id=${id}${query}`;

  it.each<[string, number[], string | null]>([
    ['', [0, 1, 2, 3, 4, 5], null],
    ['limit=2', [0, 1], '2'],
    ['limit=2&page_id=2', [2, 3], '4'],
    ['limit=2&page_id=5', [5], null],
    ['page_id=999', [], null],
    ['sort_order=TIMESTAMP_DESC&limit=2', [5, 4], '5'],
    ['sort_order=TIMESTAMP_DESC&limit=2&page_id=5', [3, 2], '3'],
    ['sort_order=TIMESTAMP_DESC&page_id=2', [0], null],
    ['kind__eq=MessageEvent&limit=2', [0, 2], '3'],
    ['kind__eq=MessageEvent&limit=2&page_id=3', [4], null],
    ['timestamp__gte=2026-01-01T00:00:01Z&timestamp__lt=2026-01-01T00:00:03Z', [1, 2], null],
  ])('with %j are %j and the next page %j', async (query, numbers, next) => {
    expect(await found(`${search()}?${query}`)).toEqual([numbers, next]);
  });

  it.each([
    ['', 6],
    ['?kind__eq=MessageEvent', 3],
    ['?timestamp__gte=2026-01-01T00:00:01Z&timestamp__lt=2026-01-01T00:00:03Z', 2],
  ])('are counted with %j: %i', async (query, count) => {
    await expectAnswers(app, [
      [`/api/v1/conversation/${ids.v1}/events/count${query}`, undefined, 200, count],
      [`/api/v1/conversation/${UNKNOWN}/events/count${query}`, undefined, 200, 0],
    ]);
  });

  it.each([
    ['page_id=-1', 400],
    ['page_id=1e3', 400],
    ['page_id=1234567890123', 400],
    ['limit=0', 422],
    ['limit=101', 422],
    ['sort_order=NEWEST', 422],
    ['kind__eq=%27%20OR%201%3D1', 422],
  ])('are refused with %s: %i', async (query, status) => {
    await expectAnswers(app, [[`${search()}?${query}`, undefined, status]]);
  });

  it('are none for an unknown conversation, and refused for what is not an id', async () => {
    expect(await found(search(UNKNOWN))).toEqual([[], null]);
    await expectAnswers(app, [[search('..%2F..%2Fkey'), undefined, 422]]);
  });

  it('and its record are read without a key once it is public, without state updates, and no other route is', async () => {
    const ask = (path: string) => app.call('GET', path, undefined, {});
    const records = `/api/shared-conversations?ids=${UNKNOWN}&ids=${ids.v1}`;
    const nothing = async () => {
      expect((await ask(records)).body).toEqual([null, null]);
      expect([await found(shared(), {}), await found(shared('', UNKNOWN), {})]).toEqual([
        [[], null],
        [[], null],
      ]);
    };
    await nothing();
    await expectAnswers(app, [[`PATCH ${V1}/${ids.v1}`, { public: true, title: 'For all' }, 200]]);
    const [, record] = (await ask(records)).body as [null, Shown];
    expect(record).toMatchObject({ id: ids.v1, title: 'For all', created_by_user_id: null });
    const members =
      'created_at created_by_user_id git_provider id llm_model metrics ' +
      'parent_conversation_id pr_number';
    const others =
      'sandbox_id selected_branch selected_repository sub_conversation_ids title updated_at';
    expect(Object.keys(record).sort().join(' ')).toBe(`${members} ${others}`);
    expect(await found(shared(), {})).toEqual([[0, 1, 2, 3, 4], null]);
    expect(await found(shared('&limit=1&page_id=1'), {})).toEqual([[1], '2']);
    expect(await found(shared('&sort_order=TIMESTAMP_DESC&limit=1'), {})).toEqual([[4], '5']);
    expect(await found(shared('&kind__eq=MessageEvent'), {})).toEqual([[0, 2, 4], null]);
    expect(await found(shared('&kind__eq=ConversationStateUpdateEvent'), {})).toEqual([[], null]);
    for (const path of [`${V1}?ids=${ids.v1}`, search(), `${V1}/${ids.v1}/file`]) {
      expect([path, (await ask(path)).status]).toEqual([path, 401]);
    }
    await expectAnswers(app, [[`PATCH ${V1}/${ids.v1}`, { public: false }, 200]]);
    await nothing();
  });

  it('without a key require a valid id', async () => {
    const detail = [{ type: 'missing', loc: ['query', 'conversation_id'] }];
    await expectAnswers(app, [
      ['/api/shared-events/search', undefined, 422, { detail }],
      [shared('', 'none'), undefined, 422],
      ['/api/shared-conversations?ids=none', undefined, 400],
      ['/api/shared-conversations', undefined, 422],
    ]);
  });

  it.each([
    ['/srv/projects/hello', null],
    ['FILE:///srv/projects/hello', null],
    ['https://demo:password@git.example/hello.git', 'https://git.example/hello.git'],
    ['demo/hello', 'demo/hello'],
    [null, null],
  ])('and the repository %s, shown without a key, is %s', async (given, selected_repository) => {
    const change = { selected_repository: given, public: true };
    await expectAnswers(app, [
      [`PATCH ${V1}/${ids.v1}`, change, 200],
      [`/api/shared-conversations?ids=${ids.v1}`, undefined, 200, [{ selected_repository }]],
    ]);
  });
});
