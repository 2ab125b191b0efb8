import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createPrompt } from '../../src/terminal/prompt.ts';
import { keptStderr, keyboard } from './streams.ts';

function prompting() {
  const stderr = keptStderr(80);
  const raw = keyboard();
  const interruption = new AbortController();
  const prompt = createPrompt({ io: { stdin: { raw }, stderr }, env: {}, signal: interruption.signal });
  return { prompt, stderr, raw, interruption };
}

/** Types once the question is on the screen: what is typed before may be lost with an earlier reader. */
async function answer<T>(world: ReturnType<typeof prompting>, question: Promise<T>, keys: string): Promise<T> {
  question.catch(() => undefined);
  while (!world.stderr.text().includes('?')) await new Promise((resolve) => setImmediate(resolve));
  world.raw.write(keys);
  return await question;
}

test('yes answers yes, and Enter gives the default', async () => {
  const yes = prompting();
  expect(await answer(yes, yes.prompt.confirm({ message: 'Delete it?' }), 'y\n')).toBe(true);
  const no = prompting();
  expect(await answer(no, no.prompt.confirm({ message: 'Delete it?' }), '\n')).toBe(false);
  const byDefault = prompting();
  expect(await answer(byDefault, byDefault.prompt.confirm({ message: 'Go on?', default: 'yes' }), '\n')).toBe(true);
});

test('the shown text is made safe, the returned value is unchanged', async () => {
  const world = prompting();
  const hostile = 'main\u202e\x1b[2J';
  const question = world.prompt.select({
    message: 'Branch?\x1b]0;t\x07',
    choices: [
      { value: 'first', name: 'first' },
      { value: hostile, name: hostile, description: 'd\u009b' },
    ],
  });
  expect(await answer(world, question, '\x1b[B\n')).toBe(hostile);
  expect(stripVTControlCharacters(world.stderr.text())).toContain('main\\u202e\\x1b[2J');
  expect(world.stderr.text()).not.toMatch(/\u202e|\u009b|\x1b\]0|\x1b\[2J/);
});

test('text is read, checked and has a default', async () => {
  const world = prompting();
  const validate = (value: string) => value === 'good' || 'not good';
  expect(await answer(world, world.prompt.input({ message: 'Title?', validate }), 'good\n')).toBe('good');
  const byDefault = prompting();
  expect(await answer(byDefault, byDefault.prompt.input({ message: 'Title?', default: 'same' }), '\n')).toBe('same');
});

test('neither a secret nor its length is shown', async () => {
  const world = prompting();
  expect(await answer(world, world.prompt.secret({ message: 'Key?' }), 's3cr3t\n')).toBe('s3cr3t');
  expect(world.stderr.text()).not.toContain('s3cr3t');
  expect(world.stderr.text()).not.toContain('******');
});

test.each([
  ['Ctrl-C', '\x03'],
  ['Ctrl-D', '\x04'],
])('%s ends the question: interrupted, exit code 130', async (_, key) => {
  const world = prompting();
  await expect(answer(world, world.prompt.confirm({ message: 'Go on?' }), key)).rejects.toMatchObject({
    kind: 'interrupted',
    exitCode: 130,
  });
});

test('the end of the input ends the question, too', async () => {
  const world = prompting();
  const question = world.prompt.input({ message: 'Title?' });
  question.catch(() => undefined);
  while (!world.stderr.text().includes('?')) await new Promise((resolve) => setImmediate(resolve));
  world.raw.end();
  await expect(question).rejects.toMatchObject({ kind: 'interrupted' });
});

test('a signal ends the question with its own exit code', async () => {
  const world = prompting();
  const question = world.prompt.confirm({ message: 'Go on?' });
  question.catch(() => undefined);
  while (!world.stderr.text().includes('?')) await new Promise((resolve) => setImmediate(resolve));
  const reason = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
  world.interruption.abort(reason);
  await expect(question).rejects.toBe(reason);
});

test('several questions read from one input', async () => {
  const world = prompting();
  expect(await answer(world, world.prompt.input({ message: 'One?' }), 'a\n')).toBe('a');
  const second = world.prompt.input({ message: 'Two?' });
  while (!world.stderr.text().includes('Two?')) await new Promise((resolve) => setImmediate(resolve));
  world.raw.write('b\n');
  expect(await second).toBe('b');
});

test('a search lists what is found for the text, and aborts the search for the text before', async () => {
  const world = prompting();
  const searched: { typed: string; signal: AbortSignal }[] = [];
  const question = world.prompt.search({
    message: 'Repository?',
    choices: async (typed, signal) => {
      searched.push({ typed, signal });
      // Only the last text is answered.
      if (typed !== '' && typed !== 'ap')
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return [
        { value: `v:${typed}`, name: typed === '' ? 'nothing yet' : `acme/${typed}\u202e`, description: 'x\u009b' },
      ];
    },
  });
  const shows = async (text: string): Promise<void> => {
    while (!stripVTControlCharacters(world.stderr.text()).includes(text))
      await new Promise((resolve) => setImmediate(resolve));
  };
  await shows('nothing yet');
  world.raw.write('a');
  world.raw.write('p');
  await shows('acme/ap\\u202e');
  world.raw.write('\n');
  expect(await question).toBe('v:ap');
  expect(searched.map(({ typed }) => typed).at(-1)).toBe('ap');
  expect(searched.slice(0, -1).every(({ signal }) => signal.aborted)).toBe(true);
  expect(world.stderr.text()).not.toMatch(/\u202e|\u009b/);
});

test('a search ends with Ctrl-C', async () => {
  const world = prompting();
  const question = world.prompt.search({ message: 'Repository?', choices: () => Promise.resolve([]) });
  await expect(answer(world, question, '\x03')).rejects.toMatchObject({ kind: 'interrupted', exitCode: 130 });
});
