import { expect, test } from 'vitest';
import { createProgress, type ProgressOptions, type Text } from '../../src/terminal/progress.ts';
import { keptStderr, Terminal } from '../support/terminal.ts';

const around = { signal: new AbortController().signal, watch: () => () => undefined };

const start = (
  columns: number | undefined,
  globals: { format?: string } = {},
  env: Record<string, string | undefined> = {},
  elsewhere?: ProgressOptions['elsewhere'],
) => {
  const stderr = keptStderr(columns);
  const progress = createProgress({
    io: { stdout: keptStderr(columns), stderr },
    env,
    globals: { color: 'auto', ...globals },
    text: 'starting \x1b[2J',
    elsewhere,
    ...around,
  });
  return { stderr, progress };
};

const onScreen = (text: Text, env: Record<string, string | undefined>) => {
  const screen = new Terminal();
  const io = { stdout: screen.writer(), stderr: screen.writer() };
  const globals = { color: 'auto' } as const;
  return { screen, progress: createProgress({ io, env, globals, text, ...around }) };
};

test('off a terminal each change prints one line, without repetitions', async () => {
  const { stderr, progress } = start(undefined);
  const shown = await progress;
  shown.update('starting \x1b[2J');
  shown.update('waiting');
  shown.update('waiting');
  await shown.done();
  shown.update('too late');
  await shown.done();
  expect(stderr.text()).toBe('starting \\x1b[2J\nwaiting\n');
});

test('with json each change is an object, also on a terminal', async () => {
  const { stderr, progress } = start(80, { format: 'json' });
  const shown = await progress;
  shown.update('waiting');
  await shown.done();
  expect(stderr.text()).toBe('{"notice":"starting \\u001b[2J"}\n{"notice":"waiting"}\n');
});

test('on a terminal a plain wait has a spinner, and leaves no line', async () => {
  const { screen, progress } = onScreen('starting \x1b[2J', { NO_COLOR: '1' });
  const shown = await progress;
  expect(screen.text).toMatch(/^\S starting \\x1b\[2J $/);
  shown.update('waiting');
  expect(screen.text).toMatch(/^\S waiting $/);
  await shown.done();
  await shown.done();
  shown.update('too late');
  expect(screen.text).toBe('');
});

test('on a terminal a text that changes by itself has a status line without a spinner', async () => {
  const { screen, progress } = onScreen(() => 'running', {});
  const shown = await progress;
  expect(screen.text).toBe('\x1b[2mrunning\x1b[22m');
  shown.update(() => 'running on');
  expect(screen.text).toBe('\x1b[2mrunning on\x1b[22m');
  await shown.done();
  expect(screen.text).toBe('');
});

test('a status line that only a terminal has prints nothing elsewhere', async () => {
  const { stderr, progress } = start(undefined, {}, {}, 'nothing');
  const shown = await progress;
  shown.update('waiting');
  shown.hide();
  shown.show();
  await shown.done();
  expect(stderr.text()).toBe('');
});

test.each([{ TERM: 'dumb' }, { CI: 'true' }])('a terminal with %o gets lines', async (env) => {
  const { stderr, progress } = start(80, {}, env);
  await (await progress).done();
  expect(stderr.text()).toBe('starting \\x1b[2J\n');
});

test('a closed stderr does not end the wait', async () => {
  for (const isTTY of [true, false]) {
    const stderr = { write: () => Promise.reject(new Error('gone')), isTTY, columns: 80 };
    const shown = await createProgress({
      io: { stdout: stderr, stderr },
      env: {},
      globals: { color: 'auto' },
      text: 'x',
      ...around,
    });
    shown.update('y');
    await expect(shown.done()).resolves.toBeUndefined();
  }
});
