import { unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import { zipChunks, zipStream, type ZipMember } from '../../src/archive/zip.ts';

function* members(asked: string[]): Generator<ZipMember> {
  for (let number = 0; number < 200; number += 1) {
    asked.push(`${number}`);
    yield [`folder/${number}.json`, Buffer.from(`{"number":${number},"text":"${'ö'.repeat(number)}"}`)];
  }
}

it('an archive contains every file, and other work continues while it is created', async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const count = (): void => {
    turns += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  const archive = await new Response(zipStream(members([]))).arrayBuffer();
  clearInterval(timer);
  clearImmediate(immediate);
  const files = unzipSync(new Uint8Array(archive));
  expect(Object.keys(files)).toHaveLength(200);
  expect(Buffer.from(files['folder/199.json'] ?? []).toString('utf8')).toContain(`"text":"${'ö'.repeat(199)}"`);
  expect(turns).toBeGreaterThan(100);
});

it('a file is read when the files before it have been consumed', async () => {
  const asked: string[] = [];
  const reader = zipStream(members(asked)).getReader();
  await reader.read();
  expect(asked.length).toBeLessThan(5);
  await reader.cancel();
  expect(asked.length).toBeLessThan(5);
});

it('an archive of more members than its end can count has their number in a Zip64 record', async () => {
  const count = 70_000;
  const many = Array.from({ length: count }, (_, number): ZipMember => [`${number}`, Buffer.from('x')]);
  const chunks: Uint8Array[] = [];
  for await (const chunk of zipChunks(many)) chunks.push(chunk);
  const archive = Buffer.concat(chunks);
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  const locator = archive.subarray(end - 20, end);
  expect(archive.readUInt16LE(end + 10)).toBe(0xffff);
  expect(locator.readUInt32LE(0)).toBe(0x07064b50);
  const record = archive.subarray(Number(locator.readBigUInt64LE(8)));
  expect({ signature: record.readUInt32LE(0), members: record.readBigUInt64LE(32) }).toEqual({
    signature: 0x06064b50,
    members: BigInt(count),
  });
  const directory = Number(record.readBigUInt64LE(48));
  expect(archive.subarray(directory, directory + 4).toString('latin1')).toBe('PK\x01\x02');
  expect(directory + Number(record.readBigUInt64LE(40))).toBe(end - 20 - 56);
});
