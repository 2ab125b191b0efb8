import { unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import { zipParts } from '../../../../src/commands/conv/export/zip.ts';
import { event, recordOf } from '../../../support/export-record.ts';

it('an archive has no member outside of the folder that it is unpacked in, whatever the ids of events are', async () => {
  const ids = ['../../x', '/etc/passwd', 'a\0b', 'C:\\x', `${'y'.repeat(300)}`, '..'];
  const events = ids.map((id) => event('MessageEvent', { text: ']]>\u202e' }, { id }));
  const chunks: Uint8Array[] = [];
  for await (const chunk of zipParts(recordOf({ events }))) chunks.push(chunk);
  const files = unzipSync(new Uint8Array(Buffer.concat(chunks)));
  expect(Object.keys(files)).toEqual([
    'event_000000_______x.json',
    'event_000001__etc_passwd.json',
    'event_000002_a_b.json',
    'event_000003_C__x.json',
    `event_000004_${'y'.repeat(100)}.json`,
    'event_000005___.json',
    'meta.json',
  ]);
  const text = Buffer.from(files['event_000002_a_b.json'] ?? []).toString('utf8');
  expect(text).toContain('\\u202e');
  expect(JSON.parse(text)).toEqual({ text: ']]>\u202e' });
});
