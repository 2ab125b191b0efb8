import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const store = machine.store;
const bare = machine.bare;

describe('profile use, rename, delete', () => {
  beforeEach(async () => {
    await bare('work');
    await bare('lab');
  });

  it('--dry-run changes nothing', async () => {
    const before = readFileSync(store(), 'utf8');
    for (const args of [
      ['delete', 'work', 'lab'],
      ['use', 'lab'],
      ['rename', 'work', 'office'],
      ['delete', 'work'],
    ]) {
      const { code, out } = await acs(['profile', ...args, '--dry-run', '--json']);
      expect({ code, out: JSON.parse(out) as unknown }).toEqual({ code: 0, out: { dry_run: true, requests: [] } });
    }
    expect(readFileSync(store(), 'utf8')).toBe(before);
  });
});

describe('a corrupt store', () => {
  it('is exit 3 with its path, and is not touched', async () => {
    mkdirSync(machine.configDir);
    writeFileSync(store(), '{"profiles":');
    for (const args of [
      ['profile', 'list'],
      ['profile', 'add', 'work', '--base-url', 'https://a.example', '--no-check'],
      ['specs', 'list'],
    ]) {
      const { code, err } = await acs(args);
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(store()) as string });
    }
    expect(readFileSync(store(), 'utf8')).toBe('{"profiles":');
  });

  it('does not stop a command that names its server', async () => {
    mkdirSync(machine.configDir);
    writeFileSync(store(), '{"profiles":');
    const env = { ACS_BASE_URL: machine.world.service.url, ACS_API_KEY: machine.world.service.key };
    expect((await acs(['specs', 'list'], { env })).code).toBe(0);
  });
});
