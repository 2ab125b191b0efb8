import { getEventListeners } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { LazyMcpClient } from '../../../src/service/agent-server/mcp.ts';
import { RunLoop } from '../../../src/service/agent-server/run-loop.ts';
import { Terminal } from '../../../src/service/agent-server/terminal.ts';
import { Tools } from '../../../src/service/agent-server/tools.ts';
import type { Step } from '../../../src/service/base/steps.ts';
import { openConversation, usePlainSandbox } from './support/shared-sandboxes.ts';
import { until } from './support/worker.ts';

const plain = usePlainSandbox();
const CALL = {
  response_id: 'r',
  name: 'terminal',
  arguments: '',
  reasoning: { text: '', thinking_blocks: [], responses_reasoning_item: null },
  signature: null,
};

let dir: string;
let terminal: Terminal;
let ofTest: typeof plain.sandbox;
/** Ends the silence that the terminal waits for; the number of times that it has begun. */
let silence: { end: () => void; begun: number };
beforeEach(() => {
  dir = plain.folder();
  silence = { end: () => undefined, begun: 0 };
  const { sandbox } = plain;
  const countdown: typeof sandbox.countdown = (durationMs, onEnd) => {
    if (durationMs !== 30_000) return sandbox.countdown(durationMs, onEnd);
    silence = { end: onEnd, begun: silence.begun + 1 };
    return () => undefined;
  };
  // The countdown of silence alone is under the control of a test.
  ofTest = new Proxy(sandbox, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'countdown') return countdown;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  terminal = new Terminal(ofTest, openConversation(dir));
});

const run = (command: string, more: object = {}) => {
  const step = { type: 'terminal', command, is_input: false, reset: false, thought: '' } as const;
  return terminal.execute({ ...step, call: CALL, ...more }, new AbortController().signal);
};
const input = (command: string, more: object = {}) => run(command, { is_input: true, ...more });
const shown = (observation: Awaited<ReturnType<typeof run>>) => {
  const { content, metadata } = observation as {
    content: { text: string }[];
    metadata: { suffix: string };
  };
  return content.map(({ text }) => text).join('') + metadata.suffix;
};

/** Prints a line, and ends when `go` is there. */
const SERVER =
  'mkdir -p sub && cd sub; export WORD=set; echo listening; ' +
  'until [ -e ../go ]; do sleep 0.02; done; echo late';

async function leaveServer() {
  silence.begun = 0;
  const first = run(SERVER);
  await until('its line', () => silence.begun === 2);
  silence.end();
  return shown(await first);
}

it('a command that is silent for 30 s is named with the ways to go on, and runs on', async () => {
  const text = await leaveServer();
  expect(text).toMatch(/^listening\n\[No output for 30 s\. The command `mkdir .* has run for/);
  expect(text).toContain('nohup <command> > <file> 2>&1 &');
  expect(shown(await run('touch other'))).toContain('This command was not executed.');
  expect(shown(await input('y'))).toContain('A running command gets no input.');
  expect(existsSync(path.join(dir, 'other'))).toBe(false);
  expect(shown(await input('', { timeout_seconds: 0.01 }))).toMatch(/^\[The command/);
  writeFileSync(path.join(dir, 'go'), '');
  expect(shown(await input(''))).toBe('late\n[The command completed with exit code 0.]');
  expect(shown(await run('echo $WORD; pwd'))).toContain(`set\n${dir}/sub`);
});

it('the end of a silent command is reported with the next one, which continues its session', async () => {
  await leaveServer();
  writeFileSync(path.join(dir, 'go'), '');
  const answers: string[] = [];
  await until('the end', async () => {
    const answer = shown(await run('echo "next $WORD"'));
    return answers.push(answer) > 0 && !answer.includes('not executed');
  });
  expect(answers.join('')).toContain('late\n');
  expect(answers.at(-1)).toMatch(/^\[The command `.*` has ended:\].*code 0\.\]\nnext set\n/s);
});

it('C-c and reset end a silent command, and keep or forget what was there before it', async () => {
  await run('export BEFORE=1');
  await leaveServer();
  expect(shown(await input('C-c'))).toBe(
    '\n[The command was ended. Directory and variables are those from before it.]',
  );
  expect(shown(await run('echo "[$BEFORE$WORD]"; pwd'))).toContain(`[1]\n${dir}\n`);
  await leaveServer();
  expect(shown(await run('echo "[$BEFORE]"', { reset: true }))).toMatch(/^\[\]\n/);
  expect(shown(await input(''))).toMatch(/^No command is running/);
});

it('a server in the background answers later commands, until one ends it and starts it again', async () => {
  writeFileSync(
    path.join(dir, 'server.cjs'),
    `const fs = require('node:fs');
    const word = fs.readFileSync('word');
    const port = fs.existsSync('port') ? Number(fs.readFileSync('port')) : 0;
    const server = require('node:http').createServer((_, answer) => answer.end(word));
    server.listen(port, '127.0.0.1', () => {
      fs.writeFileSync('port', String(server.address().port));
      fs.writeFileSync('ready', '');
    });`,
  );
  const start =
    'node server.cjs > log 2>&1 & PID=$!; until [ -e ready ]; do sleep 0.02; done; rm ready';
  const ask = 'fetch("http://127.0.0.1:" + fs.readFileSync("port")).then((r) => r.text())';
  const answer = `node -e '${ask}.then(console.log, () => console.log("refused"))'`;
  await run(`printf wrong > word; ${start}`);
  expect(shown(await run(answer))).toMatch(/^wrong\n/);
  expect(shown(await run(`kill $PID; ${answer}`))).toMatch(/^refused\n/);
  await run(`printf right > word; ${start}`);
  expect(shown(await run(`${answer}; kill $PID`))).toMatch(/^right\n/);
});

it('each output of a command begins its silence again', async () => {
  const command = run('echo 1; until [ -e go ]; do sleep 0.02; done; echo 2; touch end');
  await until('the first line', () => silence.begun === 2);
  writeFileSync(path.join(dir, 'go'), '');
  expect(shown(await command)).toMatch(/^1\n2\n\[The command completed/);
  expect(silence.begun).toBeGreaterThan(2);
});

it.each([
  ['with a time limit of its own', { timeout_seconds: 60 }],
  ['of a replay', { call: undefined }],
])('a silent command %s is awaited to its end', async (_, more) => {
  expect(shown(await run('sleep 0.1; echo end', more))).toMatch(/^end\n/);
  expect(silence.begun).toBe(0);
});

it('a command that is ended at its limit keeps directory and variables from before it', async () => {
  await run('mkdir kept; cd kept; export WORD=before');
  const ended = await run('cd /; WORD=lost; echo begun; sleep 60', { timeout_seconds: 0.2 });
  expect(shown(ended)).toBe(
    'begun\n[The command ran longer than its time limit of 0.2 s and was ended. Directory and ' +
      'variables are those from before it.]',
  );
  expect(ended).toMatchObject({ exit_code: -1, timeout: true });
  expect(shown(await run('echo $WORD; pwd'))).toContain(`before\n${dir}/kept\n`);
});

it('an interruption ends a command, also one whose call has returned', async () => {
  await leaveServer();
  const abort = new AbortController();
  const step = { type: 'terminal', command: '', is_input: true, reset: false } as const;
  const waiting = terminal.execute({ ...step, thought: '', call: CALL }, abort.signal);
  abort.abort();
  expect(await waiting).toBeNull();
  expect(shown(await run('echo free'))).toMatch(/^free\n/);
});

it('a wait that has returned has left nothing at the signal of the run', async () => {
  await leaveServer();
  const { signal } = new AbortController();
  const step = { type: 'terminal', command: '', is_input: true, reset: false } as const;
  await terminal.execute({ ...step, timeout_seconds: 0.05, thought: '', call: CALL }, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('a command whose call has returned ends with the run that is interrupted meanwhile', async () => {
  await leaveServer();
  terminal.endLeft();
  const waited = shown(await input(''));
  expect(waited).toContain('was ended. Directory and variables are those from before it.');
  expect(shown(await run('echo free'))).toMatch(/^free\n/);
});

it('a command whose call has returned ends with the run, and one in the background does not', async () => {
  const wait = 'until [ -e go ]; do sleep 0.02; done; touch';
  const commands = [`(${wait} late) >/dev/null 2>&1 &`, `touch began; ${wait} left`];
  const terminalStep = { type: 'terminal', is_input: false, reset: false, thought: '' } as const;
  const steps: Step[] = [
    ...commands.map((command) => ({ ...terminalStep, command, call: CALL })),
    { type: 'finish', message: 'Done.', thought: '' },
  ];
  const conversation = openConversation(dir);
  const tools = new Tools(ofTest, conversation, new LazyMcpClient(conversation, ofTest));
  const agent = { next: async () => steps.shift() as Step };
  new RunLoop(conversation, agent, tools, false).start();
  await until('the second command', () => existsSync(path.join(dir, 'began')));
  silence.end();
  await until('the end', () => conversation.state.execution_status === 'finished');
  const left = { ...terminalStep, command: '', is_input: true };
  const end = await tools.terminal.execute(left, new AbortController().signal);
  expect(shown(end)).toContain('The command was ended.');
  writeFileSync(path.join(dir, 'go'), '');
  await until('the background', () => existsSync(path.join(dir, 'late')));
  expect(existsSync(path.join(dir, 'left'))).toBe(false);
});

it('a setup script runs in the session, and leaves its directory but not its variables', async () => {
  writeFileSync(path.join(dir, 'setup.sh'), 'export FROM_SETUP=1; cd /; echo prepared');
  expect(await terminal.setUp('setup.sh', new AbortController().signal)).toEqual({
    notice: 'The setup script setup.sh has run.',
    output: 'prepared',
  });
  expect(shown(await run('echo "$FROM_SETUP"; pwd'))).toContain(`1\n${dir}\n`);
});

it('the notice of a setup script that fails has its exit code and the end of its output', async () => {
  writeFileSync(
    path.join(dir, 'setup.sh'),
    'head -c 5000 /dev/zero | tr "\\0" x; echo last; exit 3',
  );
  const { notice, output } = await terminal.setUp('setup.sh', new AbortController().signal);
  expect(notice).toMatch(/failed with exit code 3; the run goes on\..*\nx+last$/s);
  expect([notice.length < 2200, output.length]).toEqual([true, 5004]);
});

it('a setup script is ended by the signal, also where it was given before', async () => {
  writeFileSync(path.join(dir, 'setup.sh'), 'touch began; sleep 1000');
  const abort = new AbortController();
  const first = terminal.setUp('setup.sh', abort.signal);
  await until('the script runs', () => existsSync(path.join(dir, 'began')));
  abort.abort();
  for (const { notice } of [await first, await terminal.setUp('setup.sh', abort.signal)])
    expect(notice).toContain('was ended by a pause of the sandbox; the run goes on.');
});
