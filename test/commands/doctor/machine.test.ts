import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { doctor, type CheckJson, useDoctorWorld } from './support.ts';

const at = useDoctorWorld();

const check = async (id: string, env: Record<string, string | undefined>): Promise<CheckJson | undefined> =>
  (await doctor(at.dir, { args: ['-p', 'local'], env })).checks[id];

describe('the check of the local service', () => {
  it('warns of one with another version than acs, and names the command that ends it', async () => {
    const found = await check('local-service', { ACS_DATA_DIR: at.world.dataDir });
    expect(found).toMatchObject({
      status: 'warn',
      data: { running: true, url: at.world.service.url, version: '0.0.0-test', data_dir: at.world.dataDir },
    });
    expect(found?.hint).toContain('acs serve --stop');
  });
});

describe('the check of isolation', () => {
  it('is a warning with the reason where bubblewrap is not installed', async () => {
    const found = await check('isolation', { PATH: at.dir });
    expect(found).toMatchObject({ status: 'warn', data: { state: 'unavailable' } });
    expect(found?.text).toBe('the local service cannot isolate sandboxes: bubblewrap (bwrap) is not installed');
  });
});

describe('the check of git', () => {
  it('is a warning where git is not installed', async () => {
    expect(await check('git', { PATH: at.dir })).toMatchObject({ status: 'warn', text: 'git is not installed' });
  });
});

describe('the check of completion', () => {
  it('passes for a script in its usual folder, and for a start-up file that reads it', async () => {
    const folder = path.join(at.dir, 'data/bash-completion/completions');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'acs'), '');
    const bash = await check('completion', { SHELL: '/bin/bash', XDG_DATA_HOME: path.join(at.dir, 'data') });
    expect(bash).toMatchObject({ status: 'pass', text: `bash: ${folder}/acs` });
    await writeFile(path.join(at.dir, '.zshrc'), 'source <(acs completion zsh)\n');
    const zsh = await check('completion', { SHELL: '/usr/bin/zsh' });
    expect(zsh).toMatchObject({ status: 'pass', text: `zsh: ${at.dir}/.zshrc reads it` });
  });

  it('is a warning with the command that installs it where it is not found', async () => {
    const fish = await check('completion', { SHELL: '/usr/bin/fish', XDG_CONFIG_HOME: path.join(at.dir, 'config') });
    expect(fish).toMatchObject({
      status: 'warn',
      hint: 'mkdir -p ~/config/fish/completions && acs completion fish > ~/config/fish/completions/acs.fish',
    });
  });
});
