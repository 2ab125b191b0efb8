/** `conv chat` in tmux, which shows what a person sees: several widths, resizes, pastes, Ctrl-C. */
import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  endedRun,
  finish,
  replayFile,
  run,
  startHeldRun,
  startWaitingRun,
} from '../commands/conv/support.ts';
import { until } from '../support/test-clock.ts';
import { createWorld, type World } from '../support/world.ts';
import { BIN } from './processes.ts';

const hasTmux = spawnSync('tmux', ['-V']).status === 0;

let world: World;
beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
});
afterAll(() => world.close());

/** A tmux server of its own, whose socket is in the folder of the world. */
function tmux(args: string[], input?: string): string {
  const { stdout, stderr, status } = spawnSync(
    'tmux',
    ['-S', `${world.dir}/tmux`, '-f', '/dev/null', ...args],
    {
      env: { ...world.env, TERM: 'xterm', LANG: 'C.UTF-8', SHELL: '/bin/sh', NO_COLOR: '1' },
      encoding: 'utf8',
      ...(input === undefined ? {} : { input }),
    },
  );
  if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The rows, without empty ones at the end. */
const screen = (): string => tmux(['capture-pane', '-p', '-t', 'chat']).trimEnd();
const type = (text: string): string => tmux(['send-keys', '-t', 'chat', '-l', text]);
const key = (...names: string[]): string => tmux(['send-keys', '-t', 'chat', ...names]);

function paste(text: string): void {
  tmux(['load-buffer', '-'], text);
  tmux(['paste-buffer', '-p', '-t', 'chat']);
}

async function shows(text: string | RegExp): Promise<void> {
  const isShown = (): boolean =>
    typeof text === 'string' ? screen().includes(text) : text.test(screen());
  await until(isShown).catch(() => expect(screen()).toContain(String(text)));
}

const PROMPT = /(^|\n)>$/;

async function start(columns: number, id: string): Promise<void> {
  const command = `'${process.execPath}' '${BIN}' conv chat ${id}; echo "exit $?"; exec cat`;
  tmux(['-u', 'new-session', '-d', '-s', 'chat', '-x', String(columns), '-y', '40', command]);
  await until(() => screen() !== '');
}

describe.runIf(hasTmux)('conv chat on a terminal', () => {
  afterEach(() => void tmux(['kill-server']));

  it.each([40, 80, 200])(
    'edits several lines, recalls, pastes and sends at %i columns',
    async (columns) => {
      const replay = await replayFile(world, 'several.json', [
        run('echo one > a.txt'),
        finish('The first is done.'),
        finish('The second is done.'),
        finish('The third is done.'),
      ]);
      await start(columns, await endedRun(world, '--replay', replay));
      await shows(PROMPT);

      const long = `${'漢字 wide '.repeat(6)}end`;
      type(long);
      key('M-Enter');
      type('next\\');
      key('Enter');
      type('e\u0301 last');
      await shows('\ne\u0301 last');
      expect(screen().replaceAll('\n', '')).toContain(`> ${long}nexte\u0301 last`);
      tmux(['resize-window', '-t', 'chat', '-x', String(columns + 13), '-y', '40']);
      type('!');
      await shows('\ne\u0301 last!');
      expect(screen().match(/^> /gm)).toHaveLength(1);
      key('Enter');
      await shows('The second is done.');
      await shows(PROMPT);
      expect(screen()).toContain('next\n');

      paste('pasted 1\npasted 2\npasted 3');
      await shows('> pasted 1\npasted 2\npasted 3');
      key('C-c');
      await shows(PROMPT);
      key('Up');
      await shows('\ne\u0301 last!');
      key('C-c');
      await shows(PROMPT);
      type('/diff');
      key('Enter');
      await shows('+one');
      await shows(PROMPT);
      key('C-d');
      await shows('exit 0');
    },
  );

  it('stops the run on Ctrl-C, and leaves with 130 on the next one', async () => {
    const { id } = await startHeldRun(world);
    await start(80, id);
    await shows(/running · /);
    key('C-c');
    await shows('paused');
    await shows(PROMPT);
    expect(screen()).not.toMatch(/running · \d/);
    key('C-c');
    await shows('exit 130');
    expect(screen().replaceAll(/\s+/g, ' ')).toContain(`continue it: acs conv chat ${id}`);
  });

  it('leaves with 130 on Ctrl-C twice', async () => {
    const { id, release } = await startHeldRun(world);
    await start(80, id);
    await shows(/running · /);
    key('C-c', 'C-c');
    await shows('exit 130');
    await release();
  });

  it('answers an action in the place of the prompt', async () => {
    const { id, did } = await startWaitingRun(world, 2);
    await start(80, id);
    await shows(/Accept\? \(y\/n\)$/);
    type('y');
    key('Enter');
    await until(() => did(1));
    await shows(/accepted: [^]*Accept\? \(y\/n\)$/);
    type('n');
    key('Enter');
    await shows(/Reason for the agent \(optional\):$/);
    type('use b.txt');
    key('Enter');
    await shows(PROMPT);
    expect(screen()).toContain('use b.txt');
    expect(did(2)).toBe(false);
    key('C-d');
    await shows('exit 0');
  });
});
