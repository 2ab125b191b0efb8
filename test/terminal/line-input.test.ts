import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { LineInput, type LineQuestion } from '../../src/terminal/line-input.ts';
import type { TerminalEvents } from '../../src/terminal/status-line.ts';
import { keptStderr, keyboard } from '../support/terminal.ts';

const KEYS = {
  enter: '\r',
  altEnter: '\x1b\r',
  ctrlJ: '\n',
  up: '\x1b[A',
  down: '\x1b[B',
  left: '\x1b[D',
  home: '\x1b[H',
  backspace: '\x7f',
  ctrlC: '\x03',
  ctrlD: '\x04',
  ctrlU: '\x15',
  ctrlZ: '\x1a',
} as const;
const paste = (text: string): string => `\x1b[200~${text}\x1b[201~`;

let raw: ReturnType<typeof keyboard>;
let stderr: ReturnType<typeof keptStderr>;
let stdout: ReturnType<typeof keptStderr>;
let interruption: AbortController;
let events: Pick<TerminalEvents, 'onResize' | 'onContinue'> | null;
let lines: LineInput;
let stops: number;

beforeEach(() => {
  raw = keyboard();
  stderr = keptStderr(40);
  stdout = keptStderr(40);
  interruption = new AbortController();
  stops = 0;
  lines = new LineInput({
    io: { stdin: { raw }, stdout, stderr },
    signal: interruption.signal,
    watch: (given) => {
      events = given;
      return () => (events = null);
    },
    stopProcess: () => (stops += 1),
  });
});
afterEach(() => lines.close());

const message: LineQuestion = { prompt: '> ', kind: 'message' };
const answer: LineQuestion = { prompt: 'y? ', kind: 'answer' };

/** What is entered by these keys. */
async function typed(...keys: string[]): Promise<unknown> {
  const read = lines.read(message);
  raw.write(keys.join(''));
  const line = await read;
  return line.type === 'text' ? line.text : line.type;
}

/** Waits until the keys that were written have been read. */
const keysRead = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a message', () => {
  it.each([
    ['Enter sends the text', ['one', KEYS.enter], 'one'],
    ['Alt-Enter begins a new line', ['one', KEYS.altEnter, 'two', KEYS.enter], 'one\ntwo'],
    ['Ctrl-J begins a new line', ['one', KEYS.ctrlJ, 'two', KEYS.enter], 'one\ntwo'],
    [
      'a backslash before Enter begins a new line',
      ['one\\', KEYS.enter, 'two', KEYS.enter],
      'one\ntwo',
    ],
    ['a backslash within the text stays', ['a\\b', KEYS.enter], 'a\\b'],
    [
      'a paste of several lines is not sent',
      [paste('one\rtwo\r\nthree\nfour'), KEYS.enter],
      'one\ntwo\nthree\nfour',
    ],
    ['a paste goes to the cursor', ['ad', KEYS.left, paste('b\rc'), KEYS.enter], 'ab\ncd'],
    ['Ctrl-C in a paste is no key', [paste('one\x03two'), KEYS.enter], 'onetwo'],
    [
      'control characters and unknown keys of a paste are dropped',
      [paste('a\x1b[31mb\x9bc\td'), KEYS.enter],
      'abc\td',
    ],
    ['Backspace joins lines', ['one', KEYS.ctrlJ, KEYS.backspace, 'two', KEYS.enter], 'onetwo'],
    [
      'Up and Down move between lines',
      ['one', KEYS.ctrlJ, 'three', KEYS.up, 'X', KEYS.down, 'Y', KEYS.enter],
      'oneX\nthreYe',
    ],
    [
      'Up does not stop within a character of two units',
      ['😀😀', KEYS.ctrlJ, 'abc', KEYS.up, 'X', KEYS.enter],
      '😀X😀\nabc',
    ],
    ['Home goes to the start', ['bc', KEYS.home, 'a', KEYS.enter], 'abc'],
    [
      'wide and combining characters are edited',
      ['漢字', KEYS.left, KEYS.backspace, 'e\u0301', KEYS.enter],
      'e\u0301字',
    ],
    ['Ctrl-C clears a text', ['wrong', KEYS.ctrlC, 'right', KEYS.enter], 'right'],
    ['Ctrl-C without a text is an interrupt', [KEYS.ctrlC], 'interrupt'],
    ['Ctrl-D without a text is the end', [KEYS.ctrlD], 'end'],
    ['Ctrl-D in a text deletes', ['ab', KEYS.home, KEYS.ctrlD, KEYS.enter], 'b'],
    ['Escape and unknown sequences do nothing', ['a\x1b[99~\x1bOZ', 'b', KEYS.enter], 'ab'],
  ])('%s', async (_, keys, expected) => {
    expect(await typed(...keys)).toBe(expected);
  });

  it('the end of the input is the end', async () => {
    const read = lines.read(message);
    raw.end();
    expect(await read).toEqual({ type: 'end' });
  });
});

describe('the history', () => {
  it('recalls texts of several lines, and the text that was begun', async () => {
    await typed('one', KEYS.ctrlJ, 'two', KEYS.enter);
    await typed('three', KEYS.enter);
    expect(await typed(KEYS.up, KEYS.up, KEYS.enter)).toBe('one\ntwo');
    expect(await typed('begun', KEYS.up, KEYS.up, KEYS.down, KEYS.down, '!', KEYS.enter)).toBe(
      'begun!',
    );
  });

  it('has no answers, no empty texts and no text twice in a row', async () => {
    await typed('one', KEYS.enter);
    await typed('one', KEYS.enter);
    await typed(' ', KEYS.enter);
    const read = lines.read(answer);
    raw.write(`n${KEYS.enter}`);
    await read;
    expect(await typed(KEYS.up, KEYS.up, KEYS.up, KEYS.enter)).toBe('one');
    await typed('two', KEYS.enter);
    expect(await typed(KEYS.up, KEYS.up, KEYS.enter)).toBe('one');
  });
});

describe('the draft', () => {
  it('has what was typed while nothing was read; Enter does not send it', async () => {
    raw.write(`ahead${KEYS.enter}`);
    await keysRead();
    expect(stderr.text()).not.toContain('ahead');
    expect(await typed('!', KEYS.enter)).toBe('ahead!');
  });

  it('does not become an answer, and is there afterwards', async () => {
    raw.write('ahead');
    await keysRead();
    const read = lines.read(answer);
    raw.write(`y${KEYS.enter}`);
    expect(await read).toEqual({ type: 'text', text: 'y' });
    expect(await typed(KEYS.enter)).toBe('ahead');
  });

  it('gets a text back that could not be sent', async () => {
    await typed('lost', KEYS.enter);
    lines.putBack('lost');
    expect(await typed('?', KEYS.enter)).toBe('lost?');
  });

  it('is kept when the question is withdrawn', async () => {
    const elsewhere = new AbortController();
    const read = lines.read({ ...message, until: elsewhere.signal });
    raw.write('begun');
    await keysRead();
    const reason = new AppError('interrupted', 'answered elsewhere');
    elsewhere.abort(reason);
    await expect(read).rejects.toBe(reason);
    expect(await typed(KEYS.enter)).toBe('begun');
  });
});

test('Ctrl-C while nothing is read calls onInterrupt and keeps what was typed', async () => {
  let interrupts = 0;
  lines.onInterrupt = () => (interrupts += 1);
  raw.write(`ahead${KEYS.ctrlC}`);
  await keysRead();
  expect(interrupts).toBe(1);
  expect(await typed(KEYS.enter)).toBe('ahead');
});

test('Enter while nothing is read separates the lines that are typed ahead', async () => {
  raw.write(`one${KEYS.enter}two${KEYS.enter}`);
  await keysRead();
  expect(await typed(KEYS.enter)).toBe('one\ntwo');
});

test('Enter while nothing is read removes a line that onEnter takes', async () => {
  const entered: string[] = [];
  lines.onEnter = (line) => entered.push(line) > 0 && line === '/stop';
  raw.write(`${KEYS.enter}before${KEYS.enter}/stop${KEYS.enter}after`);
  await keysRead();
  expect(entered).toEqual(['before', '/stop']);
  expect(await typed(KEYS.enter)).toBe('before\nafter');
});

test('a signal ends the question with its own reason', async () => {
  const read = lines.read(message);
  const reason = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
  interruption.abort(reason);
  await expect(read).rejects.toBe(reason);
  await expect(lines.read(message)).rejects.toBe(reason);
});

test('the prompt is cleared before another text is written, and drawn again below it', async () => {
  const read = lines.read(message);
  raw.write('draft');
  await keysRead();
  const before = stderr.text().length;
  await stdout.write('an event\n');
  expect(stderr.text().slice(before)).toBe('\r\x1b[J');
  await keysRead();
  expect(stderr.text().slice(before)).toContain('> draft');
  raw.write(KEYS.enter);
  await read;
  const after = stderr.text().length;
  await stdout.write('another\n');
  await keysRead();
  expect(stderr.text()).toHaveLength(after);
});

test('all rows of a long text are cleared', async () => {
  const read = lines.read(message);
  raw.write(`${'x'.repeat(90)}${KEYS.ctrlJ}漢字`);
  await keysRead();
  const before = stderr.text().length;
  raw.write(KEYS.enter);
  await read;
  expect(stderr.text().slice(before)).toBe('\r\x1b[3A\x1b[J');
});

test('a paste is drawn once, however long it is', async () => {
  const read = lines.read(message);
  const before = stderr.text().length;
  raw.write(paste('a line of a long text\r'.repeat(2_000)));
  await keysRead();
  expect(
    stderr
      .text()
      .slice(before)
      .match(/> a line/g),
  ).toHaveLength(1);
  raw.write(KEYS.enter);
  expect(await read).toMatchObject({ text: 'a line of a long text\n'.repeat(2_000) });
});

test('a resize draws the prompt anew', async () => {
  const read = lines.read(message);
  raw.write('draft');
  await keysRead();
  const before = stderr.text().length;
  events?.onResize();
  expect(stderr.text().slice(before)).toContain('> draft');
  raw.write(KEYS.enter);
  await read;
});

test('Ctrl-Z clears the prompt and stops the process; the prompt is drawn when it continues', async () => {
  const read = lines.read(message);
  raw.write('draft');
  await keysRead();
  const before = stderr.text().length;
  raw.write(KEYS.ctrlZ);
  await keysRead();
  expect(stops).toBe(1);
  expect(stderr.text().slice(before)).toBe('\r\x1b[J\x1b[?2004l');
  events?.onContinue();
  expect(stderr.text().slice(before)).toContain('> draft');
  raw.write(KEYS.enter);
  await read;
});

test('another reader has the keyboard during aside', async () => {
  const keys: string[] = [];
  await lines.aside(async () => {
    const take = (chunk: Buffer): void => void keys.push(chunk.toString());
    raw.on('data', take).resume();
    raw.write('y');
    await keysRead();
    raw.off('data', take);
  });
  expect(keys).toEqual(['y']);
  expect(await typed('z', KEYS.enter)).toBe('z');
});

test('close ends the bracketed paste and leaves the streams as they were', async () => {
  await lines.close();
  expect(stderr.text().endsWith('\x1b[?2004l')).toBe(true);
  expect(events).toBeNull();
  const before = stderr.text().length;
  raw.write('x');
  await stdout.write('y\n');
  await keysRead();
  expect(stderr.text()).toHaveLength(before);
});
