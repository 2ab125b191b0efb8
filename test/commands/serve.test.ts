import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/clock.ts';
import { AppError } from '../../src/errors.ts';
import { createLocalService } from '../../src/wire/local-service.ts';
import { until } from '../support/until.ts';
import { useServeData } from './serve-data.ts';

const at = useServeData();
const { base, acs, json } = at;

describe('serve --status', () => {
  it('reports no service, creates nothing and starts nothing', async () => {
    expect(await json(['serve', '--status'])).toEqual({
      running: false,
      url: null,
      pid: null,
      version: null,
      started_at: null,
      data_dir: at.dataDir,
      conversations_running: null,
      sandboxes_running: null,
      scenario: null,
      replay: null,
    });
    expect(existsSync(at.dataDir)).toBe(false);
  });
});

describe('serve in the background', () => {
  it('starts once, is used by the profile local, and stops', async () => {
    const started = await json(['serve', '--detach']);
    expect(started).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      data_dir: at.dataDir,
      changed: true,
    });
    expect(await json(['serve', '--detach'])).toMatchObject({ url: started.url, pid: started.pid, changed: false });
    expect(await json(['serve', '--status'])).toMatchObject({ running: true, url: started.url, pid: started.pid });
    expect(await json(['whoami', '-p', 'local'])).toMatchObject({ base_url: started.url, key_source: 'local' });
    expect((await acs(['serve', '--logs'])).code).toBe(0);
    expect(await json(['serve', '--stop'])).toMatchObject({ pid: started.pid, changed: true });
    expect(await json(['serve', '--stop'])).toMatchObject({ changed: false });
    await until(() => !isThere(Number(started.pid)));
  });

  it('stores its data in --data-dir, for every form of the command', async () => {
    const other = `${path.basename(at.dataDir)}-other`;
    const started = await json(['serve', '--detach', '--data-dir', other]);
    try {
      expect(started.data_dir).toBe(path.join(base, other));
      expect(await json(['serve', '--status', '--data-dir', other])).toMatchObject({ running: true, pid: started.pid });
      expect(await json(['serve', '--status'])).toMatchObject({ running: false });
    } finally {
      expect(await json(['serve', '--stop', '--data-dir', other])).toMatchObject({ changed: true });
    }
  });

  it('exits 3 when --data-dir is a file', async () => {
    writeFileSync(at.dataDir, '');
    const { code, err } = await acs(['serve', '--detach']);
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(at.dataDir) as string });
    rmSync(at.dataDir);
  });
});

describe('serve --scenario', () => {
  const busy = '[{"path":"/api/v1/app-conversations/search","status":418}]';

  it('applies in the background, is shown by --status, and is named on stderr', async () => {
    const file = path.join(base, 'busy.json');
    writeFileSync(file, busy);
    const { code, err } = await acs(['serve', '--detach', '--scenario', 'busy.json']);
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining(`fault injection: 1 rule of ${file};`) as string,
    });
    expect(await json(['serve', '--status'])).toMatchObject({ running: true, scenario: file });
    const list = await acs(['conv', 'list', '-p', 'local', '--json']);
    expect(list.err).toContain('418');
    expect((await acs(['serve', '--logs'])).out).toContain('met rule 1: status 418');
  });

  it('exits 6 when a service without it already runs', async () => {
    await json(['serve', '--detach']);
    writeFileSync(path.join(base, 'busy.json'), busy);
    const { code, err } = await acs(['serve', '--detach', '--scenario', 'busy.json']);
    expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining('acs serve --stop') as string });
    for (const form of [['--detach', '--dry-run'], [], ['--dry-run']]) {
      expect((await acs(['serve', ...form, '--scenario', 'busy.json'])).code).toBe(6);
    }
    expect(await json(['serve', '--status'])).toMatchObject({ running: true, scenario: null });
  });

  it.each([[['--detach']], [[]], [['--dry-run']], [['--detach', '--dry-run']]])(
    'of a file with a mistake is exit 3 with %j and starts nothing',
    async (flags) => {
      const file = path.join(base, 'wrong.json');
      writeFileSync(file, '[{"stauts":503}]');
      const { code, err } = await acs(['serve', ...flags, '--scenario', 'wrong.json']);
      const words = `error: cannot use the scenario ${file}: rule 1, stauts: there is no such member\n`;
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(words) as string });
      expect(existsSync(at.dataDir)).toBe(false);
    },
  );
});

describe('serve in the foreground', () => {
  it('prints its address when it is ready, and exits on the signal', async () => {
    const controller = new AbortController();
    let shown = '';
    const running = acs(['serve', '--json'], { signal: controller.signal, onOut: (text) => (shown += text) });
    await until(() => shown.includes('\n'));
    expect(await json(['serve', '--status'])).toMatchObject({ running: true });
    expect((await acs(['serve', '--detach'])).code).toBe(0);
    controller.abort(new AppError('interrupted', 'interrupted'));
    const { code, out } = await running;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({
      type: 'ready',
      url: expect.stringContaining('http://127.0.0.1:') as string,
      data_dir: at.dataDir,
    });
    expect(await json(['serve', '--status'])).toMatchObject({ running: false });
  });

  it('prints its address once', async () => {
    const controller = new AbortController();
    let printed = '';
    const keep = (text: string) => (printed += text);
    const running = acs(['serve'], { signal: controller.signal, columns: 200, onOut: keep, onErr: keep });
    await until(() => printed.includes('http://'));
    const { url } = await json(['serve', '--status']);
    controller.abort(new AppError('interrupted', 'interrupted'));
    const { out, err } = await running;
    expect((out + err).split(String(url))).toHaveLength(2);
  });
});

describe('serve', () => {
  it.each([
    [['--status', '--stop']],
    [['--port', '70000']],
    [['--port', 'x']],
    [['--api', 'v2']],
    [['--spec', 'docker']],
    [['--idle-timeout', '5']],
    [['--host', '']],
    [['--data-dir', '']],
    [['--prune', '30d']],
    [['--scenario', '']],
    [['--status', '--scenario', 'faults.json']],
    [['--stop', '--scenario', 'faults.json']],
    [['--status', '--timeout', '5s']],
  ])('%j is exit 2 and starts nothing', async (flags) => {
    expect((await acs(['serve', ...flags])).code).toBe(2);
    expect(readdirSync(base)).not.toContain(path.basename(at.dataDir));
  });

  it('--dry-run starts nothing', async () => {
    expect(await acs(['serve', '--detach', '--dry-run', '--json'])).toMatchObject({
      code: 0,
      out: '{"dry_run":true,"requests":[]}\n',
    });
    expect(existsSync(at.dataDir)).toBe(false);
  });
});

describe('on Windows', () => {
  it('the local service exits 12, with a hint about the alternatives', async () => {
    const service = await createLocalService({
      root: base,
      version: '0',
      env: { ACS_DATA_DIR: at.dataDir },
      platform: 'win32',
      home: base,
      clock: clockFrom(() => Date.now()),
      log: () => undefined,
      connect: () => Promise.reject(new Error('not reached')),
    });
    const refused = { kind: 'unsupported', exitCode: 12, details: { hint: expect.stringContaining('WSL') as string } };
    await expect(service.run({})).rejects.toMatchObject(refused);
    await expect(service.ensure({})).rejects.toMatchObject(refused);
    expect(existsSync(at.dataDir)).toBe(false);
  });
});

/** One that has ended is there until its parent, this process, has taken notice. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
