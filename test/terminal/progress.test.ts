import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createProgress } from '../../src/terminal/progress.ts';
import { keptStderr } from './streams.ts';

const start = (
  columns: number | undefined,
  globals: { format?: string } = {},
  env: Record<string, string | undefined> = {},
) => {
  const stderr = keptStderr(columns);
  const progress = createProgress({
    io: { stderr },
    env,
    globals: { color: 'auto', ...globals },
    text: 'starting \x1b[2J',
  });
  return { stderr, progress };
};

test('off a terminal each change prints one line, without repetitions', async () => {
  const { stderr, progress } = start(undefined);
  const shown = await progress;
  shown.update('starting \x1b[2J');
  shown.update('waiting');
  shown.update('waiting');
  await shown.done('ready');
  shown.update('too late');
  await shown.done();
  expect(stderr.text()).toBe('starting \\x1b[2J\nwaiting\nready\n');
});

test('with json each change is an object, also on a terminal', async () => {
  const { stderr, progress } = start(80, { format: 'json' });
  const shown = await progress;
  await shown.fail('lost');
  expect(stderr.text()).toBe('{"notice":"starting \\u001b[2J"}\n{"notice":"lost"}\n');
});

test('on a terminal a spinner is shown, changes its text and leaves only the last line', async () => {
  const { stderr, progress } = start(80);
  const shown = await progress;
  shown.update('waiting');
  await shown.done('ready');
  await shown.done('twice');
  const text = stderr.text();
  expect(text).toContain('starting \\x1b[2J');
  expect(text).not.toContain('\x1b[2J');
  expect(stripVTControlCharacters(text).endsWith('✓ ready\n')).toBe(true);
  // The cursor is back and the spinner's line was cleared before the last one.
  expect(text.lastIndexOf('\x1b[?25h')).toBeGreaterThan(text.lastIndexOf('\x1b[?25l'));
  expect(text.lastIndexOf('\x1b[0K')).toBeGreaterThan(text.lastIndexOf('starting'));
});

test('a spinner that ends without a text leaves no line', async () => {
  const { stderr, progress } = start(80);
  await (await progress).done();
  expect(stripVTControlCharacters(stderr.text()).split('\n')).toHaveLength(1);
});

test.each([{ TERM: 'dumb' }, { CI: 'true' }])('a terminal with %o gets lines', async (env) => {
  const { stderr, progress } = start(80, {}, env);
  await (await progress).done();
  expect(stderr.text()).toBe('starting \\x1b[2J\n');
});

test('a closed stderr does not end the wait', async () => {
  for (const isTTY of [true, false]) {
    const stderr = { write: () => Promise.reject(new Error('gone')), isTTY, columns: 80 };
    const shown = await createProgress({ io: { stderr }, env: {}, globals: { color: 'auto' }, text: 'x' });
    shown.update('y');
    await expect(shown.done('z')).resolves.toBeUndefined();
  }
});
