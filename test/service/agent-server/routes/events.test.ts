import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { expectAnswers } from '../../app/support.ts';
import { ID, KEY, message, step } from '../support/worker.ts';
import { useSharedWorker } from '../support/shared-sandboxes.ts';

const shared = useSharedWorker([step.run('echo one'), step.say('Well?')]);
const { get, post } = shared;
const conversation = `/api/conversations/${ID}`;
const EVENTS = 'openhands.sdk.event';
const unknown = '00000000-0000-0000-0000-000000000000';

describe('messages', () => {
  it('that are malformed are refused with the path of the wrong member', () =>
    expectAnswers(shared.worker, [
      [
        `POST ${conversation}/events`,
        { role: 'user', content: 'x' },
        422,
        { detail: [{ type: 'list_type', loc: ['body', 'content'] }] },
      ],
      [`POST ${conversation}/events`, '{"role":', 422],
      [`POST ${conversation}/events`, undefined, 422],
    ]));

  it('of 5 MiB arrive whole', async () => {
    const text = 'é'.repeat(2.5 * 1024 * 1024);
    expect((await post(`${conversation}/events`, message(text, false))).body).toEqual({
      success: true,
    });
    const kind = `${EVENTS}.llm_convertible.message.MessageEvent`;
    const { body } = await get(
      `${conversation}/events/search?kind=${kind}&sort_order=TIMESTAMP_DESC&limit=1`,
    );
    const [event] = (body as { items: { llm_message: { content: { text: string }[] } }[] }).items;
    expect(event?.llm_message.content[0]?.text === text).toBe(true);
  });
});

describe('events', () => {
  it('have extended_content on messages, and not on observations without one', async () => {
    const events = await shared.worker.events();
    const having = new Set(
      events.filter((event) => 'extended_content' in event).map(({ kind }) => kind),
    );
    expect([...having]).toEqual(['MessageEvent']);
    expect(events.map(({ kind }) => kind)).toContain('ObservationEvent');
  });

  it('are returned page by page, complete, in both orders', async () => {
    const all = await shared.worker.events();
    expect(await shared.worker.events(2)).toEqual(all);
    const { body } = await get(`${conversation}/events/search?sort_order=TIMESTAMP_DESC&limit=3`);
    expect(body).toEqual({ items: all.slice(-3).reverse(), next_page_id: all.at(-4)?.id });
    expect((await get(`${conversation}/events/count`)).body).toBe(all.length);
  });

  it('are filtered by kind as a class path, source, text and time', async () => {
    const all = await shared.worker.events();
    const actions = all.filter((event) => event.kind === 'ActionEvent');
    const path = `${EVENTS}.llm_convertible.action.ActionEvent`;
    expect((await get(`${conversation}/events/search?kind=${path}`)).body).toMatchObject({
      items: actions,
    });
    // As on genuine servers, nothing else finds any.
    for (const kind of [
      'ActionEvent',
      `${EVENTS}.ActionEvent`,
      `${EVENTS}.user_action.ActionEvent`,
    ]) {
      expect((await get(`${conversation}/events/count?kind=${kind}`)).body).toBe(0);
    }
    const count = async (query: string): Promise<unknown> =>
      (await get(`${conversation}/events/count?${query}`)).body;
    expect(await count('source=agent')).toBe(
      all.filter((event) => event.source === 'agent').length,
    );
    expect(await count('body=ECHO%20ONE')).toBe(2);
    const time = all[3]?.timestamp ?? '';
    for (const form of [time, `${time}Z`]) {
      expect(await count(`timestamp__gte=${form}`)).toBe(all.length - 3);
      expect(await count(`timestamp__lt=${form}`)).toBe(3);
    }
  });

  it('refuse a limit outside 1 to 100 and an unknown event; an unknown page is the first one', async () => {
    const [first] = await shared.worker.events();
    const events = `${conversation}/events`;
    await expectAnswers(shared.worker, [
      ...[0, 101, 'x'].map((limit) => [`${events}/search?limit=${limit}`, undefined, 422] as const),
      [`${events}/${unknown}`, undefined, 404],
      [`${events}/${first?.id ?? ''}`, undefined, 200, first],
      [
        `${events}/search?limit=1&page_id=${unknown}`,
        undefined,
        200,
        { items: [{ kind: 'SystemPromptEvent' }] },
      ],
    ]);
  });

  it('are in an archive, one file each', async () => {
    const response = await fetch(
      `http://127.0.0.1:${shared.worker.port}/api/file/download-trajectory/${ID}`,
      {
        headers: { 'X-Session-API-Key': KEY },
      },
    );
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
    const events = await shared.worker.events();
    const folder = ID.replaceAll('-', '');
    expect(Object.keys(files)).toEqual([
      ...['base_state.json', 'meta.json'].map((name) => `${folder}/${name}`),
      ...events.map(
        ({ id }, at) => `${folder}/events/event-${String(at).padStart(5, '0')}-${id}.json`,
      ),
    ]);
    expect(JSON.parse(Buffer.from(Object.values(files).at(-1) ?? []).toString('utf8'))).toEqual(
      events.at(-1),
    );
    const { body } = await get(conversation);
    expect(body).toMatchObject({ leaf_event_id: events.at(-1)?.id });
  });
});
