import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openProfileStore, type Profile } from '../../src/profiles/store.ts';

const base = mkdtempSync(path.join(os.tmpdir(), 'acs-store-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let configDir = '';
let count = 0;
beforeEach(() => {
  count += 1;
  configDir = path.join(base, `home-${count}`, '.config', 'acs');
});

const file = () => path.join(configDir, 'profiles.json');
const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name,
  base_url: `https://${name}.example`,
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});

function corrupt(text: string): void {
  mkdirSync(configDir, { recursive: true });
  writeFileSync(file(), text);
}

describe('the profile store', () => {
  it.each([
    ['{"profiles": {"work": {"key": "s3cret"', 'it is not valid JSON'],
    ['', 'it is empty'],
    ['[]', 'it is not a JSON object'],
    ['{"profiles": []}', '"profiles" is not an object'],
    ['{"profiles": {"work": {}}}', 'profile "work": "base_url" is not a URL'],
    ['{"profiles": {"local": {"base_url": "https://a.example"}}}', 'profile "local": its name is not allowed'],
    ['{"profiles": {"work": {"base_url": "https://a.example", "key": 7}}}', 'profile "work": "key" is not a string'],
    ['{"default": "gone", "profiles": {}}', '"default" names a profile that is not there'],
  ])('is not changed when it is corrupt: %s', async (text, why) => {
    corrupt(text);
    const store = openProfileStore({ configDir });
    const refused = { kind: 'config', message: `the profile store ${file()} cannot be used: ${why}` };
    await expect(store.list()).rejects.toMatchObject(refused);
    await expect(store.add(profile('work'))).rejects.toMatchObject(refused);
    expect(readFileSync(file(), 'utf8')).toBe(text);
    expect(readdirSync(configDir)).toEqual(['profiles.json']);
  });
});
