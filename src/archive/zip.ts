/**
 * Zip archives that are made while they are sent: neither the whole of one nor the time for it is taken at once. Of each
 * member only its entry in the directory is kept, about 100 bytes. Section numbers are those of PKWARE's APPNOTE.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { crc32, deflateRawSync } from 'node:zlib';

/** A file of an archive: its name and its content. */
export type ZipMember = readonly [name: string, content: Uint8Array];

type Bytes = Buffer<ArrayBuffer>;

/**
 * The bytes of an archive of the members in their order; each is read when those before it have been consumed. Any
 * number of members; at most 4 GiB in all, which the reader of the bytes has to check.
 */
export async function* zipChunks(
  members: Iterable<ZipMember> | AsyncIterable<ZipMember>,
): AsyncGenerator<Bytes, void, void> {
  // As strings: a small Buffer would keep the 8 KB of the pool that it is a part of.
  const directory: string[] = [];
  let size = 0;
  for await (const [name, content] of members) {
    // Others have their turn between two files.
    await turn();
    const packed = deflateRawSync(content);
    const file = fileHeader(Buffer.from(name), packed.length, content);
    directory.push(directoryEntry(file, size).toString('latin1'));
    const chunk = Buffer.concat([LOCAL_SIGNATURE, file, packed]);
    size += chunk.length;
    yield chunk;
  }
  const entries = Buffer.from(directory.join(''), 'latin1');
  yield Buffer.concat([entries, ...endOf(directory.length, size, entries.length)]);
}

/** The same for a body of HTTP. */
export function zipStream(members: Iterable<ZipMember>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(zipChunks(members));
}

const LOCAL_SIGNATURE = Buffer.from('PK\x03\x04', 'latin1');
const HEADER_BYTES = 26;
const UTF8_NAME = 0x800;
const DEFLATED = 8;
/** 1980-01-01: the same members give the same archive. */
const DATE = 0x21;

/** Section 4.3.7 without the signature, with the name. */
function fileHeader(name: Bytes, packedBytes: number, content: Uint8Array): Bytes {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16LE(20, 0); // the version that reads it: 2.0
  header.writeUInt16LE(UTF8_NAME, 2);
  header.writeUInt16LE(DEFLATED, 4);
  header.writeUInt16LE(DATE, 8);
  header.writeUInt32LE(crc32(content), 10);
  header.writeUInt32LE(packedBytes, 14);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt16LE(name.length, 22);
  return Buffer.concat([header, name]);
}

/**
 * Section 4.3.12.
 * @param offset of the local header
 */
function directoryEntry(file: Bytes, offset: number): Bytes {
  const start = Buffer.from('PK\x01\x02\x14\x03', 'latin1'); // made on Unix
  const end = Buffer.alloc(14);
  end.writeUInt32LE(0o100644 * 0x10000, 6);
  end.writeUInt32LE(offset, 10);
  return Buffer.concat([start, file.subarray(0, HEADER_BYTES), end, file.subarray(HEADER_BYTES)]);
}

const MOST_IN_END = 0xffff;

/**
 * Section 4.3.16. Its number of members has two bytes; for more of them the records of Zip64 come before it (4.3.14 and
 * 4.3.15).
 * @param offset of the directory
 */
function endOf(count: number, offset: number, directoryBytes: number): Bytes[] {
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  for (const at of [8, 10]) end.writeUInt16LE(Math.min(count, MOST_IN_END), at);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(offset, 16);
  if (count < MOST_IN_END) return [end];
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(BigInt(record.length - 12), 4);
  for (const at of [12, 14]) record.writeUInt16LE(45, at); // version 4.5
  for (const at of [24, 32]) record.writeBigUInt64LE(BigInt(count), at);
  record.writeBigUInt64LE(BigInt(directoryBytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(offset + directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return [record, locator, end];
}
