import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { createPrompt, type Prompt } from '../../src/terminal/prompt.ts';
import { until } from '../support/test-clock.ts';
import { keptStderr, keyboard } from '../support/terminal.ts';

function prompting(columns = 80) {
  const stderr = keptStderr(columns);
  const raw = keyboard();
  const interruption = new AbortController();
  const interrupted: string[] = [];
  const interrupt = (): void => void interrupted.push('SIGINT');
  const prompt = createPrompt({
    io: { stdin: { raw }, stderr },
    env: {},
    platform: 'linux',
    signal: interruption.signal,
    interrupt,
    color: 'auto',
    redact: (text) => text,
  });
  let shown = 0;
  const sees = async (text: string): Promise<void> => {
    const at = (): number => stderr.text().indexOf(text, shown);
    await until(() => at() >= 0);
    shown = at() + text.length;
  };
  /**
   * Acts once the question is on the screen: what is typed before may be lost with an earlier
   * reader.
   */
  const then = async <T>(question: Promise<T>, act: string | (() => void)): Promise<T> => {
    question.catch(() => undefined);
    await sees('?');
    if (typeof act === 'string') raw.write(act);
    else act();
    return await question.finally(() => (shown = stderr.text().length));
  };
  return { prompt, stderr, raw, interruption, interrupted, sees, then };
}

it.each<[string, (prompt: Prompt) => Promise<unknown>, string, unknown]>([
  ['yes answers yes', (prompt) => prompt.confirm({ message: 'Delete it?' }), 'y\n', true],
  [
    'Enter gives the default no',
    (prompt) => prompt.confirm({ message: 'Delete it?' }),
    '\n',
    false,
  ],
  [
    'Enter gives the default yes',
    (prompt) => prompt.confirm({ message: 'Go on?', default: 'yes' }),
    '\n',
    true,
  ],
  [
    'a text is read and checked',
    (prompt) =>
      prompt.input({ message: 'Title?', validate: (text) => text === 'good' || 'not good' }),
    'good\n',
    'good',
  ],
  [
    'Enter gives the default text',
    (prompt) => prompt.input({ message: 'Title?', default: 'same' }),
    '\n',
    'same',
  ],
])('%s', async (_, ask, keys, answer) => {
  const { prompt, then } = prompting();
  expect(await then(ask(prompt), keys)).toBe(answer);
});

it('the shown text is made safe, the returned value is unchanged', async () => {
  const { prompt, then, stderr } = prompting();
  const hostile = 'main\u202e\x1b[2J';
  const question = prompt.select({
    message: 'Branch?\x1b]0;t\x07',
    choices: [
      { value: 'first', name: 'first' },
      { value: hostile, name: hostile, description: 'd\u009b' },
    ],
  });
  expect(await then(question, '\x1b[B\n')).toBe(hostile);
  expect(stripVTControlCharacters(stderr.text())).toContain('main\\u202e\\x1b[2J');
  expect(stderr.text()).not.toMatch(/\u202e|\u009b|\x1b\]0|\x1b\[2J/);
});

it('a long question and a long refusal break between words', async () => {
  const { prompt, then, sees, raw, stderr } = prompting(30);
  const validate = (text: string) => text === 'good' || 'the server cannot clone this repository';
  const answered = then(
    prompt.input({ message: 'Repository (owner/name, a URL or a path)', validate }),
    'bad\n',
  );
  await sees('> the server cannot clone this\n  repository');
  raw.write('\x15good\n');
  expect(await answered).toBe('good');
  expect(stripVTControlCharacters(stderr.text())).toContain(
    'Repository (owner/name, a\n  URL or a path)',
  );
  const choices = [{ value: 'demo', name: 'the demo' }];
  await then(prompt.select({ message: 'What should the local service start?', choices }), '\n');
  expect(stderr.text()).toContain('What should the local\n  service start?');
});

it('neither a secret nor its length is shown', async () => {
  const { prompt, then, stderr } = prompting();
  expect(await then(prompt.secret({ message: 'Key?' }), 's3cr3t\n')).toBe('s3cr3t');
  expect(stderr.text()).not.toMatch(/s3cr3t|\*{6}/);
});

it.each(['none', 'yes', 'no'] as const)(
  'another answer than y, yes, n and no is removed and asked again, with the default %s',
  async (preset) => {
    const { prompt, then, sees, raw, stderr } = prompting();
    const question = prompt.confirm({ message: 'Accept it?', default: preset });
    const answered = then(question, preset === 'none' ? '\n' : 'go on\nyes');
    await sees('answer y, yes, n or no');
    raw.write('N');
    await sees('N');
    expect(stderr.text().split('Accept it?').at(-1)).not.toMatch(/go on|yes/);
    raw.write('o\n');
    expect(await answered).toBe(false);
  },
);

it('a refused secret is removed and asked again, and what is typed during the check is neither used nor shown', async () => {
  const { prompt, then, sees, raw, stderr } = prompting();
  const checked: string[] = [];
  const validate = async (value: string) => {
    checked.push(value);
    raw.write('typed-meanwhile');
    await until(() => raw.readableLength === 0);
    return value === 's3cr3t' || 'refused';
  };
  const answered = then(prompt.secret({ message: 'Key?', validate }), 'wr0ng\nsecond-line');
  await sees('refused');
  raw.write('s3cr3t\n');
  expect(await answered).toBe('s3cr3t');
  expect(checked).toEqual(['wr0ng', 's3cr3t']);
  expect(stderr.text()).not.toMatch(/wr0ng|second-line|s3cr3t|typed-meanwhile|\*{3}/);
});

it('an answer that the check refuses stays in the line without what was typed after it', async () => {
  const { prompt, then, sees, raw } = prompting();
  const validate = (text: string) => text === 'https://a.example' || '\x1b[2Jnot a URL';
  const answered = then(prompt.input({ message: 'URL?', validate }), 'https://a\nsecond');
  await sees('\\x1b[2Jnot a URL');
  raw.write('.example\n');
  expect(await answered).toBe('https://a.example');
});

it('Ctrl-C during a check interrupts the command, and what a check throws rejects the question', async () => {
  const { prompt, then, raw, interrupted } = prompting();
  const failure = new AppError('network', 'no connection');
  const failing = prompt.input({ message: 'URL?', validate: () => Promise.reject(failure) });
  await expect(then(failing, 'a\n')).rejects.toBe(failure);
  const validate = () => {
    raw.write('\x03');
    return new Promise<never>(() => undefined);
  };
  const left = { kind: 'interrupted', exitCode: 130 };
  await expect(then(prompt.input({ message: 'URL?', validate }), 'a\n')).rejects.toMatchObject(
    left,
  );
  expect(interrupted).toEqual(['SIGINT']);
});

it.each(['\x03', '\x04', 'end'])(
  '%j ends the question: interrupted, exit code 130',
  async (key) => {
    const { prompt, then, raw } = prompting();
    const act = key === 'end' ? () => void raw.end() : key;
    const interrupted = { kind: 'interrupted', exitCode: 130 };
    await expect(then(prompt.input({ message: 'Go on?' }), act)).rejects.toMatchObject(interrupted);
  },
);

it('a signal ends the question with its own exit code', async () => {
  const { prompt, then, interruption } = prompting();
  const reason = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
  await expect(
    then(prompt.confirm({ message: 'Go on?' }), () => interruption.abort(reason)),
  ).rejects.toBe(reason);
});

it('several questions read from one input', async () => {
  const { prompt, then } = prompting();
  expect(await then(prompt.input({ message: 'One?' }), 'a\n')).toBe('a');
  expect(await then(prompt.input({ message: 'Two?' }), 'b\n')).toBe('b');
});
