import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { fetchKey, fillTarget, type KeyReaders, readKeyText } from '../../src/profiles/key.ts';
import { planTarget } from '../../src/profiles/resolve.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-key-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const bytes = (text: string) => new TextEncoder().encode(text);

function readers(given: Partial<KeyReaders>): KeyReaders {
  const refuse = () => Promise.reject(new Error('must not be read'));
  return { readFile: refuse, readStdin: refuse, runCommand: refuse, local: refuse, ...given };
}

async function message(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof AppError ? `${error.kind}: ${error.message}` : `unexpected ${String(error)}`),
  );
}

describe('a key', () => {
  it.each([
    ['key\n', 'key'],
    ['key\r\n', 'key'],
    ['key', 'key'],
  ])('loses one trailing line break: %j', (text, key) => {
    expect(readKeyText(text, 'the key')).toBe(key);
  });

  it.each(['', '\n', ' ', 'se\ncret', 'secret\n\n', 'sec\x00ret', 'sécret', ' secret', 'sec ret'])(
    'that cannot be sent is refused without being repeated: %j',
    async (text) => {
      const refused = await message(
        fetchKey({ from: 'stdin' }, readers({ readStdin: () => Promise.resolve(bytes(text)) })),
      );
      expect(refused).toMatch(
        /^config: the key from stdin (is empty|has more than one line|holds a space or a character)/,
      );
      expect(refused).not.toMatch(/s[eé]c/);
    },
  );

  it('in a file that cannot be read, or is too big, is exit 3', async () => {
    const missing = readers({ readFile: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOENT' })) });
    expect(await message(fetchKey({ from: 'file', path: 'k' }, missing))).toBe(
      'config: cannot read the file that --api-key-file names: it does not exist',
    );
    const big = readers({ readFile: () => Promise.resolve(new Uint8Array(20_000)) });
    expect(await message(fetchKey({ from: 'file', path: 'k' }, big))).toBe('config: k is too long to be a key');
  });

  it('of the local service is looked up where it runs, and absent where it does not', async () => {
    const query = { profile: 'local', env: {}, offTerminal: true };
    const plan = await planTarget(query, () => Promise.reject(new Error('not needed')));
    const running = { url: 'http://127.0.0.1:4000', key: 'own' };
    expect(await fillTarget(plan, readers({ local: () => Promise.resolve(running) }))).toMatchObject({
      base_url: 'http://127.0.0.1:4000',
      key: 'own',
      key_source: 'local',
    });
    expect(await fillTarget(plan, readers({ local: () => Promise.resolve(null) }))).toMatchObject({
      base_url: null,
      key: null,
    });
  });
});
