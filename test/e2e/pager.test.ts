import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/test-clock.ts';
import { createWorld, type World } from '../support/world.ts';
import { hasScript, inWorld, terminal } from './processes.ts';

let world: World;
let id: string;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  const started = await world.acs('conv', 'new', '--replay', 'demo', '--wait', '-q');
  if (started.code !== 0) throw new Error(started.err);
  id = started.out.trim();
});
afterAll(() => world.close());

const PAGED: [line: string, whole: RegExp][] = [
  ['acs conv events $id', /^P:TIME [^]*^P:.*finished/m],
  ['acs conv show $id', /^P:id[^]*^P:sandbox id/m],
  ['acs conv diff $id', /^P:diff --git[^]*^P:\+/m],
  ['acs --help', /^P:Start and manage[^]*^P:.*topics:/m],
  ['acs conv show -h', /^P:[^]*^P:Global flags/m],
  ['acs help exit-codes', /^P:[^]*^P:/m],
];
const NOT_PAGED = [
  'acs conv events $id --tail 2',
  'acs conv events $id --json',
  'acs conv events $id -q',
  'acs conv events $id --follow',
  'acs conv events $id -o events.txt; cat events.txt',
  'acs conv events $id | cat',
  'acs conv events $id --no-pager',
  'acs conv events --help --no-pager',
  'acs conv events $id --no-input',
  'CI=1 acs conv events $id',
  'TERM=dumb acs conv events $id',
  'ACS_PAGER= acs conv events $id',
  'ACS_PAGER=cat acs --help',
  'ACS_PAGER=/no/such/pager acs conv events $id',
  'acs conv list',
];

describe.runIf(hasScript)('on a terminal of 8 rows', () => {
  const within = () => {
    const { cwd, env } = inWorld(world);
    return { cwd, env: { ...env, id, ACS_PAGER: 'sed s/^/P:/', PAGER: '/not/this/one' } };
  };

  it('conv events, conv show, conv diff and help print through the pager, and no other form of output does', async () => {
    const lines = [...PAGED.map(([line]) => line), ...NOT_PAGED];
    const { ended } = terminal(
      lines.map((line) => `${line}; echo "exit $?"; echo ----`).join('\n'),
      within(),
    );

    // A status line is erased before the output begins.
    const parts = (await ended).out
      .replaceAll('\r', '')
      .replaceAll(/.*\x1b\[J/g, '')
      .split('----\n');

    for (const [index, [line, whole]] of PAGED.entries()) {
      expect({ line, text: parts[index] }).toEqual({ line, text: expect.stringMatching(whole) });
      expect(parts[index]).toMatch(/\nexit 0\n$/);
    }
    for (const [index, line] of NOT_PAGED.entries()) {
      const text = parts[PAGED.length + index];
      expect({ line, text }).toEqual({ line, text: expect.not.stringMatching(/^P:|^exit [1-9]/m) });
      expect(text?.split('\n').length).toBeGreaterThan(2);
    }
  });

  it('a pager that ends early leaves the exit code of the command as it is', async () => {
    const exits =
      'acs conv events $id; echo "exit $?"; acs conv show $id --exit-status; echo "exit $?"';
    const { ended } = terminal(exits, { ...within(), env: { ...within().env, ACS_PAGER: 'true' } });

    expect((await ended).out.replaceAll('\r', '')).toBe('exit 0\nexit 0\n');
  });

  it.runIf(spawnSync('less', ['--version']).status === 0)(
    'Ctrl-C in less ends neither less nor the command, and the terminal is as before',
    async () => {
      const { cwd, env } = inWorld(world);
      const script = 'stty -g >before; acs conv events $id; echo "exit $?"; stty -g >after';
      const shell = terminal(script, { cwd, env: { ...env, id } });
      await until(() => /^:/m.test(shell.out()));

      const type = (keys: string): void => void shell.child.stdin?.write(keys);
      type('\x03');
      // less discards keys until it has handled the interrupt.
      await until(() => {
        type('G');
        return shell.out().includes('(END)');
      });
      type('q');

      const { out } = await shell.ended;
      expect(out).toMatch(/exit 0\r\n$/);
      expect(out).toContain('…');
      const mode = (file: string): string => readFileSync(path.join(world.dir, file), 'utf8');
      expect(mode('after')).toBe(mode('before'));
    },
  );
});
