import { mkdtemp, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../support/world.ts';
import { until } from '../support/test-clock.ts';
import { shell, start, type Start } from './processes.ts';

let dir: string;
let home: string;
let place: Start;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-e2e-'));
  home = path.join(dir, 'home');
  await mkdir(home);
  place = { cwd: dir, env: { PATH: process.env.PATH, HOME: home } };
});
afterEach(async () => {
  await start(['serve', '--stop'], place).ended;
  await rm(dir, { recursive: true, force: true });
});

const local = (): Start => ({ ...place, env: { ...place.env, ACS_PROFILE: 'local' } });

describe('with ACS_PROFILE=local and an empty home', () => {
  it('warns that commands run without isolation when bubblewrap is not installed', async () => {
    const programs = path.join(dir, 'programs');
    await mkdir(programs);
    for (const folder of ['/bin', '/usr/bin']) {
      for (const name of await readdir(folder)) {
        if (name !== 'bwrap')
          await symlink(path.join(folder, name), path.join(programs, name)).catch(() => undefined);
      }
    }
    const env = { ...local().env, PATH: programs };
    const { code, err } = await start(['conv', 'new', '--replay', 'demo', '--no-repo', '--wait'], {
      ...local(),
      env,
    }).ended;
    expect(code).toBe(0);
    expect(err).toContain(
      'warning: commands run without isolation: bubblewrap (bwrap) is not installed',
    );
  });

  it('resolves @last after a restart of the service', async () => {
    const script = [
      'id=$(acs conv new --replay demo --no-repo --wait -q)',
      'acs serve --stop -q >/dev/null',
      'test "$(acs conv show @last -q)" = "$id"',
    ].join(' && ');
    expect(await shell(script, local()).ended).toMatchObject({ code: 0, out: '' });
  });

  it('starts the service, replays a run on a repository, and all reads agree', async () => {
    const script = [
      'git init -q repository && cd repository',
      'git -c user.name=Test -c user.email=test@example.com commit -q --allow-empty -m first',
      'id=$(acs conv new --repo . --branch "$(git branch --show-current)" --replay ' +
        `"${PACKAGE_ROOT}/examples/$FILE" --wait -q)`,
      'acs conv follow "$id" --format ndjson | tail -n 1',
      'acs conv diff "$id" --stat',
    ].join(' && ');
    const [file = ''] = (await readdir(path.join(PACKAGE_ROOT, 'examples'))).filter((name) =>
      /\.v[01]\.json$/.test(name),
    );
    const here = local();
    const { code, out, err } = await shell(script, { ...here, env: { ...here.env, FILE: file } })
      .ended;
    expect(code, err).toBe(0);
    const [outcome = '', ...changes] = out.trimEnd().split('\n');
    expect(JSON.parse(outcome)).toMatchObject({
      type: 'outcome',
      status: 'finished',
      exit_code: 0,
    });
    expect(changes.length).toBeGreaterThan(0);
    expect(err).toMatch(/^.* · finished$|^$/m);
  });

  it('leaves no process after the service is stopped', async () => {
    expect(
      (await start(['conv', 'new', '--no-repo', '--replay', 'demo', '--follow'], local()).ended)
        .code,
    ).toBe(0);
    const status = JSON.parse(
      (await start(['serve', '--status', '--json'], local()).ended).out,
    ) as { pid: number };
    expect(isAlive(status.pid)).toBe(true);
    expect((await start(['serve', '--stop'], local()).ended).code).toBe(0);
    await until(() => !isAlive(status.pid));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
