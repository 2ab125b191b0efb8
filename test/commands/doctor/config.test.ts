import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { doctor, useDoctorWorld } from './support.ts';

const here = useDoctorWorld();

describe('doctor and the profile store', () => {
  const stored = async (name: string, text: string, mode = 0o600): Promise<string> => {
    const folder = path.join(here.dir, name);
    await mkdir(folder, { mode: 0o700 });
    await writeFile(path.join(folder, 'profiles.json'), text, { mode });
    return folder;
  };
  const text = JSON.stringify({
    default: null,
    profiles: { work: { base_url: 'http://127.0.0.1:1', created_at: '' } },
  });

  it('passes a store that only its owner can read, and counts the profiles', async () => {
    const ACS_CONFIG_DIR = await stored('good', text);
    const { checks } = await doctor(here.dir, { env: { ...here.healthy(), ACS_CONFIG_DIR } });
    expect(checks.store).toMatchObject({
      status: 'pass',
      text: `${ACS_CONFIG_DIR}/profiles.json: 1 profile, mode 0600`,
    });
  });

  it('warns of a store that others can read, with the mode it had', async () => {
    const ACS_CONFIG_DIR = await stored('open', text, 0o644);
    const { code, checks } = await doctor(here.dir, { env: { ...here.healthy(), ACS_CONFIG_DIR } });
    expect(code).toBe(0);
    expect(checks.store).toMatchObject({ status: 'warn' });
    expect(checks.store?.text).toContain('(mode 0644)');
  });

  it('fails store alone when the file is corrupt', async () => {
    const ACS_CONFIG_DIR = await stored('corrupt', '{');
    const named = await doctor(here.dir, { env: { ...here.healthy(), ACS_CONFIG_DIR } });
    expect(named.ids('fail')).toEqual(['store']);
    expect(named.checks.key?.status).toBe('pass');
    const needed = await doctor(here.dir, { env: { ACS_CONFIG_DIR } });
    expect(needed.ids('fail')).toEqual(['store']);
    expect(needed.checks.config?.text).toBe('not checked: store failed');
    expect(needed.checks.tcp?.text).toBe('not checked: store failed');
  });
});
