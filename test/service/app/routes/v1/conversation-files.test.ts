import { mkdirSync } from 'node:fs';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { eventLogFile, openEventLog } from '../../../../../src/service/storage/event-log.ts';
import { createApp } from '../../../../../src/service/app/app.ts';
import { appWithEachDialect, KEY } from '../../support.ts';

const { app, ids } = appWithEachDialect();

const at = (id: string, rest: string): string => `/api/v1/app-conversations/${id}/${rest}`;

/** The members of the archive of a conversation, parsed. */
async function archiveOf(id: string): Promise<Record<string, unknown>> {
  const headers = { 'X-Session-API-Key': KEY };
  const answer = await createApp(app.context).request(`http://127.0.0.1${at(id, 'download')}`, { headers });
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="conversation_${id}.zip"`);
  const files = unzipSync(new Uint8Array(await answer.arrayBuffer()));
  return Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [name, JSON.parse(Buffer.from(bytes).toString()) as unknown]),
  );
}

describe('the archive of a conversation', () => {
  it('has the record without a key, and nothing else for one without a log', async () => {
    const archive = await archiveOf(ids.v1);
    expect(Object.keys(archive)).toEqual(['meta.json']);
    expect(archive['meta.json']).toMatchObject({ id: ids.v1, sandbox_status: 'RUNNING' });
    expect(archive['meta.json']).not.toHaveProperty('session_api_key');
  });

  it('has each event of a long log once, named in order', async () => {
    const folder = app.context.supervisor.eventsOf(ids.sandbox);
    mkdirSync(folder, { recursive: true });
    const log = openEventLog(eventLogFile(folder, ids.v1));
    for (let number = 0; number < 1001; number++) {
      const timestamp = new Date(number * 1000).toISOString().slice(0, -1);
      log.append({ id: `e${number}`, timestamp, source: 'agent', kind: 'MessageEvent' });
    }
    log.close();
    const { 'meta.json': _, ...events } = await archiveOf(ids.v1);
    const expected = Array.from(
      { length: 1001 },
      (_each, number) => `event_${String(number).padStart(6, '0')}_e${number}.json`,
    );
    expect(Object.keys(events)).toEqual(expected);
    expect(events['event_001000_e1000.json']).toMatchObject({ id: 'e1000' });
  });

  it('does not exist for an unknown conversation', async () => {
    const answer = await app.call('GET', at('f'.repeat(32), 'download'));
    const dashed = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    expect(answer).toMatchObject({ status: 404, body: { detail: `Conversation not found: ${dashed}` } });
    expect((await app.call('GET', at('nonsense', 'download'))).status).toBe(422);
  });
});

describe('a file of a conversation', () => {
  it('is empty where the conversation or its sandbox cannot be reached', async () => {
    for (const id of [ids.v1, 'f'.repeat(32)]) {
      expect(await app.call('GET', at(id, 'file?file_path=/etc/passwd'))).toMatchObject({ status: 200, body: '' });
    }
  });
});
