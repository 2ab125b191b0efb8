import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openProfileStore } from '../../src/profiles/store.ts';
import { profile, useConfigDirs } from './support/config-dirs.ts';

const dirs = useConfigDirs();

describe('the profile store', () => {
  it.each([
    ['{"profiles": {"work": {"key": "s3cret"', 'it is not valid JSON'],
    ['', 'it is empty'],
    ['[]', 'it is not a JSON object'],
    ['{"profiles": []}', '"profiles" is not an object'],
    ['{"profiles": {"work": {}}}', 'profile "work": "base_url" is not a URL'],
    ['{"profiles": {"local": {"base_url": "https://a.example"}}}', 'profile "local": its name is not allowed'],
    ['{"profiles": {"work": {"base_url": "https://a.example", "key": 7}}}', 'profile "work": "key" is not a string'],
    ['"text"', 'it is not a JSON object'],
    ['null', 'it is not a JSON object'],
    ['{"default": 7, "profiles": {}}', '"default" is not a string'],
    ['{"profiles": {"work": []}}', 'profile "work": it is not an object'],
    ['{"profiles": {"work": null}}', 'profile "work": it is not an object'],
    ['{"profiles": {"work": {"base_url": 7}}}', 'profile "work": "base_url" is not a URL'],
    ['{"profiles": {"work": {"base_url": "work"}}}', 'profile "work": "base_url" is not a URL'],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "key_command": 7}}}',
      'profile "work": "key_command" is not a string',
    ],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "created_at": 7}}}',
      'profile "work": "created_at" is not a string',
    ],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "defaults": {"a": "b", "c": 7}}}}',
      'profile "work": "defaults" is not an object of strings',
    ],
    [
      '{"profiles": {"work": {"base_url": "https://a.example", "defaults": []}}}',
      'profile "work": "defaults" is not an object of strings',
    ],
    ['{"default": "gone", "profiles": {}}', '"default" names a profile that is not there'],
  ])('is not changed when it is corrupt: %s', async (text, why) => {
    dirs.corrupt(text);
    const store = openProfileStore(dirs);
    const hint = 'repair the file, or move it away and add the profiles again; acs has not changed it';
    const refused = {
      kind: 'config',
      details: { hint },
      message: `the profile store ${dirs.file} cannot be used: ${why}`,
    };
    await expect(store.list()).rejects.toMatchObject(refused);
    await expect(store.add(profile('work'))).rejects.toMatchObject(refused);
    expect(readFileSync(dirs.file, 'utf8')).toBe(text);
    expect(readdirSync(dirs.configDir)).toEqual(['profiles.json']);
  });
});
