import { afterEach, beforeEach, expect, test } from 'vitest';
import { StatusLine, type TerminalEvents } from '../../src/terminal/status-line.ts';
import { NO_COLORS } from '../../src/base/text/notice.ts';
import { until } from '../support/test-clock.ts';
import type { OutputStream } from '../../src/base/streams.ts';
import { Terminal } from '../support/terminal.ts';

let screen: Terminal;
let io: { stdout: OutputStream; stderr: OutputStream };
let events: TerminalEvents | null;
let text: string;
let line: StatusLine;
const interruption = { current: new AbortController() };

function open(): StatusLine {
  return new StatusLine({
    io,
    palette: NO_COLORS,
    text: () => text,
    signal: interruption.current.signal,
    watch: (given) => {
      events = given;
      return () => (events = null);
    },
  });
}

beforeEach(() => {
  screen = new Terminal();
  io = { stdout: screen.writer(), stderr: screen.writer() };
  interruption.current = new AbortController();
  text = 'running';
  line = open();
});
afterEach(() => line.end());

test('a status line stays below what is written to stdout and stderr', async () => {
  await io.stdout.write('one\n');
  await io.stderr.write('two\n');
  expect(screen.text).toBe('one\ntwo\n');
  await until(() => screen.text === 'one\ntwo\nrunning');
});

test('a status line is not drawn behind a line that is not complete', async () => {
  await io.stdout.write('half');
  await new Promise((resolve) => setImmediate(resolve));
  line.draw();
  expect(screen.text).toBe('half');
  await io.stdout.write(Buffer.from(' a line\n'));
  await until(() => screen.text === 'half a line\nrunning');
});

test('a status line is cut to the width of the terminal, and made safe', () => {
  text = '\x1b[31m日本語日本語日本語日本語';
  line.draw();
  expect(screen.text).toBe('\\x1b[31m日本語日本…');
  screen.columns = 8;
  text = 'running for a while';
  events?.onResize();
  expect(screen.text).toBe('runnin…');
});

test('a status line is cleared while the process is stopped, and drawn when it continues', () => {
  events?.onStop?.();
  expect(screen.text).toBe('');
  events?.onContinue();
  expect(screen.text).toBe('running');
});

test('a hidden status line is not drawn before it is shown', async () => {
  line.hide();
  line.draw();
  events?.onResize();
  await io.stderr.write('? a question');
  await new Promise((resolve) => setImmediate(resolve));
  expect(screen.text).toBe('? a question');
  await io.stderr.write('\n');
  line.show();
  line.show();
  expect(screen.text).toBe('? a question\nrunning');
});

test('a status line is cleared at once by an interruption', () => {
  interruption.current.abort();
  expect([screen.text, events]).toEqual(['', null]);
});

test('a status line after an interruption is not drawn', async () => {
  await line.end();
  interruption.current.abort();
  const own = io.stdout.write;
  line = open();
  line.hide();
  line.show();
  expect([screen.text, io.stdout.write === own]).toEqual(['', true]);
});

test('a status line that has ended gives the streams back', async () => {
  await line.end();
  await io.stdout.write('one\n');
  await new Promise((resolve) => setImmediate(resolve));
  expect([screen.text, events]).toEqual(['one\n', null]);
});

test('a status line leaves a stdout that is not a terminal alone', async () => {
  await line.end();
  const written: unknown[] = [];
  const stdout: OutputStream = {
    isTTY: false,
    columns: undefined,
    write: (chunk) => Promise.resolve(void written.push(chunk)),
  };
  const { write } = stdout;
  io = { stdout, stderr: screen.writer() };
  line = open();
  expect(stdout.write).toBe(write);
});
