import { expect, it } from 'vitest';
import { dashedId, isUuid, normalId } from '../../src/servers/ids.ts';
import { allPages } from '../../src/domain/pages.ts';
import { inSlices } from '../../src/servers/v1/calls.ts';
import { failure } from './support/failure.ts';

it('ids are converted between both forms, and other texts stay as they are', () => {
  expect(normalId('0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9')).toBe('0a1b2c3d4e5f60718293a4b5c6d7e8f9');
  expect(dashedId('0a1b2c3d4e5f60718293a4b5c6d7e8f9')).toBe('0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9');
  expect([normalId('sandbox-1'), dashedId('x'), isUuid('123')]).toEqual(['sandbox-1', 'x', false]);
});

it('pages are read lazily to the end, and a repeated page is an error', async () => {
  const asked: (string | null)[] = [];
  const itself = (item: string): string => item;
  const pages = allPages(itself, (page) => {
    asked.push(page);
    return Promise.resolve({ items: [page ?? 'first'], next: page === null ? 'a' : page === 'a' ? 'b' : null });
  });
  expect((await pages.next()).value).toBe('first');
  expect(asked).toEqual([null]);
  const rest: string[] = [];
  for await (const item of pages) rest.push(item);
  expect(rest).toEqual(['a', 'b']);
  const endless = async (): Promise<void> => {
    for await (const _ of allPages(itself, () => Promise.resolve({ items: [], next: 'same' }))) continue;
  };
  expect((await failure(endless())).kind).toBe('server');
});

it('ids are requested in slices, and the answers keep their order', async () => {
  const sizes: number[] = [];
  const ids = Array.from({ length: 250 }, (_, index) => String(index));
  const all = await inSlices(ids, 99, (slice) => {
    sizes.push(slice.length);
    return Promise.resolve(slice);
  });
  expect([sizes, all]).toEqual([[99, 99, 52], ids]);
});
