import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const { acs, stored, store, bare } = machine;

async function login(name: string): Promise<void> {
  const { url, key } = machine.world.service;
  const { code, err } = await acs(['login', name, '--base-url', url, '--api-key-file', '-'], { stdin: key });
  expect(code, err).toBe(0);
}

describe('logout', () => {
  it('removes the stored key, and keeps the profile and the default', async () => {
    await login('work');
    const { code, out } = await acs(['logout', 'work', '--json']);
    expect({ code, record: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      record: {
        name: 'work',
        base_url: machine.world.service.url,
        default: true,
        key_source: null,
        created_at: expect.any(String) as string,
        changed: true,
      },
    });
    expect(readFileSync(store(), 'utf8')).not.toContain(machine.world.service.key);
    expect(stored()).toMatchObject({ default: 'work', profiles: { work: { base_url: machine.world.service.url } } });
    expect((await acs(['specs', 'list'])).code).toBe(4);
  });

  it('changes nothing when there is no stored key', async () => {
    await bare('work');
    const before = readFileSync(store(), 'utf8');
    const { code, out } = await acs(['logout', 'work', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ changed: false })]);
    expect(readFileSync(store(), 'utf8')).toBe(before);
  });

  it.each<[string, string[], Record<string, string>]>([
    ['the default', [], {}],
    ['that of ACS_PROFILE', [], { ACS_PROFILE: 'work' }],
    ['that of --profile', ['-p', 'work'], {}],
  ])('without a name takes the profile: %s', async (_, args, env) => {
    await login('work');
    if (args.length > 0 || env.ACS_PROFILE !== undefined) {
      await bare('other');
      await acs(['profile', 'use', 'other']);
    }
    expect((await acs(['logout', ...args], { env })).code).toBe(0);
    expect(stored().profiles.work?.key).toBeUndefined();
  });

  it('exits 2 when no profile is active, and 5 for a profile that does not exist', async () => {
    expect((await acs(['logout'])).code).toBe(2);
    expect((await acs(['logout', 'work'])).code).toBe(5);
    expect((await acs(['logout', 'work', '-p', 'home'])).code).toBe(2);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it('reports the variable that commands use now', async () => {
    await login('work');
    const env = { OPENHANDS_API_KEY: 'other-key' };
    const { code, out, err } = await acs(['logout', 'work'], { env });
    expect([code, err]).toEqual([0, 'OPENHANDS_API_KEY is set, and is used with profile "work" now\n']);
    expect(out + err).not.toContain('other-key');
  });

  it('keeps the command that prints the key, and reports it', async () => {
    const args = [
      'profile',
      'add',
      'work',
      '--base-url',
      'https://a.example',
      '--key-command',
      'cat key',
      '--no-check',
    ];
    await acs(args);
    const { code, out, err } = await acs(['logout', 'work', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ changed: false, key_source: 'command' })]);
    expect(err).toContain('gets its key from a command');
    expect(stored().profiles.work?.key_command).toBe('cat key');
  });

  it('exits 0 for local, which has no login', async () => {
    const { code, out } = await acs(['logout', 'local', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: 'local', changed: false })]);
  });

  it('--dry-run removes nothing', async () => {
    await login('work');
    const { code, out } = await acs(['logout', '--dry-run', '--json']);
    expect([code, out]).toEqual([0, '{"dry_run":true,"requests":[]}\n']);
    expect(stored().profiles.work?.key).toBe(machine.world.service.key);
  });

  it('exits 3 for a store that cannot be read, and does not change it', async () => {
    await login('work');
    writeFileSync(store(), '{');
    expect((await acs(['logout', 'work'])).code).toBe(3);
    expect(readFileSync(store(), 'utf8')).toBe('{');
  });
});
