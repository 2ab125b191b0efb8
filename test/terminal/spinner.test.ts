import { afterEach, beforeEach, expect, test } from 'vitest';
import { NO_COLORS } from '../../src/base/text/notice.ts';
import { Spinner } from '../../src/terminal/spinner.ts';
import type { TerminalEvents } from '../../src/terminal/status-line.ts';
import { Terminal } from '../support/terminal.ts';

const FRAME = /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /;

let screen: Terminal;
let written: string;
let events: TerminalEvents | null;
let text: string;
let interruption: AbortController;
let spinner: Spinner;
const shown = (): string => screen.text.replace(FRAME, '* ').trimEnd();

function open(colors: 'colors' | 'no-colors' = 'no-colors'): Spinner {
  const stderr = screen.writer();
  const { write } = stderr;
  stderr.write = (chunk) => {
    written += chunk.toString();
    return write(chunk);
  };
  return new Spinner(
    {
      io: { stdout: screen.writer(), stderr },
      palette: NO_COLORS,
      text: () => text,
      signal: interruption.signal,
      watch: (listeners) => {
        events = listeners;
        return () => (events = null);
      },
    },
    colors,
  );
}

beforeEach(() => {
  screen = new Terminal();
  written = '';
  interruption = new AbortController();
  text = 'waiting';
  spinner = open();
});
afterEach(() => spinner.end());

test('a spinner is before its text, and leaves nothing when it ends', async () => {
  expect(shown()).toBe('* waiting');
  text = 'waiting longer';
  spinner.draw();
  expect(shown()).toBe('* waiting longer');
  await spinner.end();
  spinner.draw();
  expect([screen.text, events]).toEqual(['', null]);
});

test('a spinner never hides the cursor, which stays at the first column', () => {
  expect(written).not.toContain('\x1b[?25');
  expect(written).toMatch(/ waiting \r\x1b\[\?2026l$/);
});

test('a text is cut to the width that the terminal has then, and made safe', () => {
  text = '\x1b[31m日本語日本語日本語日本語';
  spinner.draw();
  expect(shown()).toBe('* \\x1b[31m日本語…');
  screen.columns = 11;
  text = 'waiting for a while';
  events?.onResize();
  expect(shown()).toBe('* waitin…');
});

test('a spinner is cleared while the process is stopped, and drawn when it continues', () => {
  events?.onStop?.();
  expect(screen.text).toBe('');
  events?.onContinue();
  expect(shown()).toBe('* waiting');
});

test('a hidden spinner is not drawn before it is shown', () => {
  spinner.hide();
  spinner.draw();
  events?.onResize();
  events?.onContinue();
  expect(screen.text).toBe('');
  spinner.show();
  spinner.show();
  expect(shown()).toBe('* waiting');
});

test('a spinner is cleared at once by an interruption, and not drawn after one', async () => {
  interruption.abort();
  expect([screen.text, events]).toEqual(['', null]);
  await spinner.end();
  spinner = open();
  spinner.hide();
  spinner.show();
  expect(screen.text).toBe('');
});

test('a spinner has no colours where the terminal has none', async () => {
  expect(written).not.toMatch(/\x1b\[\d*m/);
});
