import { setImmediate as turn } from 'node:timers/promises';
import { crc32, deflateRawSync } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';

export type ZipMember = readonly [name: string, content: Uint8Array];

/** The end of an archive counts members in two bytes; fflate writes no Zip64. */
const MOST_MEMBERS = 0xffff;
const DEFLATED = 8;

/** Throws above 65,535 members; the caller has to keep the archive below 4 GiB. */
async function* zipChunks(members: Iterable<ZipMember>): AsyncGenerator<Uint8Array, void, void> {
  const chunks: Uint8Array[] = [];
  const archive = new Zip((_, chunk) => chunks.push(chunk));
  let count = 0;
  for (const [filename, content] of members) {
    if (++count > MOST_MEMBERS)
      throw new Error(`an archive of more than ${MOST_MEMBERS} files cannot be written`);
    await turn();
    const file: ZipInputFile = {
      filename,
      size: content.length,
      crc: crc32(content),
      compression: DEFLATED,
    };
    file.mtime = new Date(1980, 0, 1); // the same members give the same archive
    archive.add(file);
    file.ondata?.(null, deflateRawSync(content), true);
    yield Buffer.concat(chunks.splice(0));
  }
  archive.end();
  yield* chunks;
}

export function zipStream(members: Iterable<ZipMember>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(zipChunks(members)) as ReadableStream<Uint8Array<ArrayBuffer>>;
}
