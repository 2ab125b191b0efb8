/** `conv follow` and `conv wait` on a pseudo-terminal: resize, Ctrl-Z and fg, Ctrl-C. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createV1World,
  event,
  ID,
  KEY,
  userMessage,
  type V1World,
} from '../client/support/v1-server.ts';
import { Screen } from '../support/terminal.ts';
import { until } from '../support/test-clock.ts';
import { BIN, hasScript } from './processes.ts';

const COMMAND = 'make a-target-with-a-name-that-is-longer-than-half-of-the-terminal-is-wide';

let dir: string;
let world: V1World;
let terminal: ChildProcess;
let screen: Screen;

/** A shell with job control on a terminal of 80 columns; `$acs` is the command. */
function shell(script: string): void {
  const set =
    `tty > '${dir}/tty'; stty cols 80 rows 24; set -m; ` + `acs="'${process.execPath}' '${BIN}'"`;
  terminal = spawn('script', ['-qfc', `${set}; ${script}`, '/dev/null'], {
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      SHELL: '/bin/bash',
      TERM: 'xterm',
      NO_COLOR: '1',
      ACS_CONFIG_DIR: path.join(dir, 'config'),
      ACS_BASE_URL: world.fake.url,
      ACS_API_KEY: KEY,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  terminal.stdout?.setEncoding('utf8').on('data', (text: string) => screen.write(text));
}

const type = (keys: string): void => void terminal.stdin?.write(keys);

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-live-'));
  screen = new Screen();
  world = await createV1World();
  world.addConversation();
  world.agentEvents.push(
    userMessage('begin'),
    event('ConversationStateUpdateEvent', {
      source: 'environment',
      key: 'stats',
      value: {
        usage_to_metrics: {
          agent: { accumulated_cost: 0.5 },
          condenser: { accumulated_cost: 0.25 },
        },
      },
    }),
    event('ActionEvent', {
      tool_name: 'terminal',
      action: { kind: 'TerminalAction', command: COMMAND },
    }),
  );
});
afterEach(async () => {
  const closed = new Promise((resolve) => terminal.once('close', resolve));
  if (terminal.exitCode === null && terminal.signalCode === null) {
    terminal.kill('SIGKILL');
    await closed;
  }
  await world.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

it.runIf(hasScript)(
  'conv follow keeps its status line through resize, Ctrl-Z and fg, and clears it on Ctrl-C',
  async () => {
    shell(`eval $acs conv follow ${ID}; echo stopped; read word; fg > /dev/null; echo "exit $?"`);
    await until(() =>
      /^running · \d+:\d\d:\d\d · \$0\.75 · \$ make a-target[-\w]*…$/.test(screen.last),
    );
    expect(screen.last).toHaveLength(79);
    expect(screen.text).toContain('you    begin\n');
    expect(screen.text.match(/running ·/g)).toHaveLength(1);

    const tty = readFileSync(path.join(dir, 'tty'), 'utf8').trim();
    spawnSync('stty', ['-F', tty, 'cols', '40']);
    await until(() => screen.last.startsWith('running ·') && screen.last.length === 39);

    type('\x1a');
    await until(() => screen.text.includes('stopped\n'));
    expect(screen.text).not.toContain('running ·');
    expect(screen.text).not.toContain('\x1b');

    type('\n');
    await until(() => screen.last.startsWith('running ·'));

    type('\x03');
    await until(() => screen.text.includes('exit 130'));
    expect(screen.text).not.toContain('running ·');
    expect(screen.text).toContain('error: interrupted by SIGINT');
  },
);

it.runIf(hasScript)(
  'conv wait keeps one spinner for all runs through resize, Ctrl-Z and fg, and clears it on Ctrl-C',
  async () => {
    const spinner = new RegExp(`^\\S conversation ${ID}: running $`);
    const cutSpinner = /^\S conversation [\w-]+… $/;
    shell(
      `eval $acs conv wait ${ID} ${ID}; echo stopped; read word; fg > /dev/null; echo "exit $?"`,
    );
    await until(() => spinner.test(screen.last));
    expect(screen.text).not.toMatch(/\n.*running/);

    const tty = readFileSync(path.join(dir, 'tty'), 'utf8').trim();
    spawnSync('stty', ['-F', tty, 'cols', '30']);
    await until(() => cutSpinner.test(screen.last) && screen.last.length === 29);

    type('\x1a');
    await until(() => screen.text.includes('stopped\n'));
    expect(screen.text).not.toContain('conversation');
    expect(screen.text).not.toContain('\x1b');

    type('\n');
    await until(() => cutSpinner.test(screen.last));

    type('\x03');
    await until(() => screen.text.includes('exit 130'));
    expect(screen.text).toContain('error: interrupted by SIGINT');
    expect(screen.text).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|ora/);
  },
);
