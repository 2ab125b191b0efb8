/** An export as an archive with the members that servers give it (interface 4.5), and the diff. */
import { zipChunks, type ZipMember } from '../../../archive/zip.ts';
import { AppError } from '../../../errors.ts';
import { recordOf } from '../../../output/fields.ts';
import { jsonDocument } from '../../../output/json.ts';
import { conversationView } from '../view.ts';
import type { ExportRecord } from './record.ts';

/** Places in an archive have four bytes. */
const MOST_BYTES = 0xffff_ffff;
const LONGEST_ID = 100;

export async function* zipParts(record: ExportRecord): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of zipChunks(membersOf(record))) {
    size += chunk.length;
    if (size > MOST_BYTES) {
      throw new AppError('failed', 'the export is larger than 4 GiB, which a zip archive cannot hold', {
        hint: 'use --as ndjson',
      });
    }
    yield chunk;
  }
}

async function* membersOf({ conversation, events, diff }: ExportRecord): AsyncGenerator<ZipMember, void, void> {
  let number = 0;
  for await (const page of events()) {
    for (const { id, payload } of page) {
      yield [`event_${String(number).padStart(6, '0')}_${safeName(id)}.json`, document(payload)];
      number += 1;
    }
  }
  const { patch, ...members } = await diff();
  yield ['meta.json', document({ ...recordOf(conversationView, conversation, undefined), diff: members })];
  if (patch.length > 0) yield ['changes.patch', patch];
}

function document(value: unknown): Uint8Array {
  return Buffer.from(jsonDocument(value));
}

/** An id is the server's text, and a member name is a path where the archive is unpacked. */
function safeName(id: string): string {
  return id.replace(/[^A-Za-z0-9-]/g, '_').slice(0, LONGEST_ID);
}
