import { unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import { zipStream, type ZipMember } from '../../../src/service/http/zip.ts';

function* members(asked: string[]): Generator<ZipMember> {
  for (let number = 0; number < 200; number += 1) {
    asked.push(`${number}`);
    yield [
      `folder/${number}.json`,
      Buffer.from(`{"number":${number},"text":"${'ö'.repeat(number)}"}`),
    ];
  }
}

it('an archive contains every file, and other work continues while it is created', async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  const archive = await new Response(zipStream(members([]))).arrayBuffer();
  clearImmediate(immediate);
  const files = unzipSync(new Uint8Array(archive));
  expect(Object.keys(files)).toHaveLength(200);
  expect(Buffer.from(files['folder/199.json'] ?? []).toString('utf8')).toContain(
    `"text":"${'ö'.repeat(199)}"`,
  );
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

it('an archive ends with an error at more members than its end can count', async () => {
  const many = Array.from({ length: 65_536 }, (_, number): ZipMember => [
    `${number}`,
    new Uint8Array(),
  ]);
  await expect(new Response(zipStream(many)).arrayBuffer()).rejects.toThrow(
    'more than 65535 files',
  );
});
