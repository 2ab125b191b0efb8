/** Runs acs on a terminal and answers its prompts with the answers of the test. */
import { PassThrough } from 'node:stream';
import { run } from '../../../src/cli.ts';
import { clockFrom, type Clock } from '../../../src/clock.ts';
import type { OutputStream } from '../../../src/context.ts';
import type { Prompt } from '../../../src/terminal/prompt.ts';
import { createContext } from '../../../src/wire.ts';
import { Screen } from '../../support/screen.ts';
import { PACKAGE_ROOT, type Ended, type World } from '../../support/world.ts';

/**
 * Gives the answer to a question; a promise that never settles leaves the question open. `shown` is what stdout holds,
 * `screen` what the terminal shows.
 */
export type Person = (question: string, until?: AbortSignal, shown?: () => string, screen?: Screen) => Promise<string>;

export async function onTerminal(
  world: Pick<World, 'env' | 'home' | 'dir'>,
  args: string[],
  person: Person,
): Promise<Omit<Ended, 'bytes'>> {
  const refused = (): Promise<never> => Promise.reject(new Error('the test has no answer to this'));
  const prompt: Prompt = {
    confirm: async ({ message }) => (await person(message)) === 'yes',
    input: refused,
    select: async <T extends string>({ message, until }: { message: string; until?: AbortSignal }) =>
      (await unless(until, person(message, until, stdout.text, screen))) as T,
    search: refused,
    secret: ({ message }) => person(message),
    editor: refused,
  };
  const screen = new Screen();
  const stdout = kept(screen);
  return runOnTerminal({ world, cwd: world.dir, args, prompt, stdout, stderr: kept(screen) });
}

export interface Asked extends Omit<Ended, 'bytes'> {
  questions: string[];
}

/** Runs `conv new` with `args`; each question gets the next of `answers`. */
export async function runWizard(
  world: Pick<World, 'env' | 'home'>,
  cwd: string,
  args: string[],
  answers: (string | boolean)[],
): Promise<Asked> {
  return runAnswered({ world, cwd, args: ['conv', 'new', ...args] }, answers);
}

/** Runs a command; each question gets the next of `answers`. */
export async function runAnswered(
  command: Pick<TerminalRun, 'world' | 'cwd' | 'args' | 'clock' | 'signal'>,
  answers: (string | boolean)[],
): Promise<Asked> {
  const questions: string[] = [];
  const left = [...answers];
  const answer = <T>(message: string): Promise<T> => {
    questions.push(message);
    if (left.length === 0) throw new Error(`no answer is left for "${message}"`);
    return Promise.resolve(left.shift() as T);
  };
  const prompt: Prompt = {
    confirm: ({ message }) => answer(message),
    // A wrong answer repeats the question together with the problem.
    async input({ message, default: preset, validate }) {
      for (let asked = message; ;) {
        const given = (await answer<string>(asked)) || (preset ?? '');
        const problem = (await validate?.(given)) ?? true;
        if (problem === true) return given;
        asked = `${message} ${problem}`;
      }
    },
    select: ({ message, choices }) => answer(`${message} [${choices.map(({ name }) => name).join(' | ')}]`),
    // The answer is typed, and the first choice taken that is then listed; an empty one takes the first without typing.
    async search({ message, choices }) {
      const namesOf = (listed: readonly { name: string }[]): string => listed.map(({ name }) => name).join(' | ');
      const before = await choices('', new AbortController().signal);
      const typed = await answer<string>(`${message} [${namesOf(before)}]`);
      const listed = typed === '' ? before : await choices(typed, new AbortController().signal);
      return listed[0]?.value ?? '';
    },
    secret: ({ message }) => answer(message),
    editor: ({ message }) => answer(message),
  };
  const ended = await runOnTerminal({ ...command, prompt, stdout: kept(), stderr: kept() });
  return { ...ended, questions };
}

interface TerminalRun {
  world: Pick<World, 'env' | 'home'>;
  cwd: string;
  args: string[];
  prompt: Prompt;
  stdout: KeptStream;
  stderr: KeptStream;
  /** Real time without one. */
  clock?: Clock;
  signal?: AbortSignal;
}

async function runOnTerminal({
  world,
  cwd,
  args,
  prompt,
  stdout,
  stderr,
  clock = clockFrom(() => Date.now()),
  signal = new AbortController().signal,
}: TerminalRun): Promise<Omit<Ended, 'bytes'>> {
  const context = createContext({
    root: PACKAGE_ROOT,
    io: { stdin: { isTTY: true, raw: new PassThrough(), readAll: () => new Promise(() => {}) }, stdout, stderr },
    env: world.env,
    cwd,
    home: world.home,
    platform: process.platform,
    clock,
    signal,
  });
  context.prompt = () => Promise.resolve(prompt);
  const code = await run(args, context);
  return { code, out: stdout.text(), err: stderr.text() };
}

function unless<T>(until: AbortSignal | undefined, answer: Promise<T>): Promise<T> {
  if (until === undefined) return answer;
  const taken = new Promise<never>((_resolve, reject) => {
    until.addEventListener('abort', () => reject(until.reason as Error), { once: true });
  });
  return Promise.race([answer, taken]);
}

type KeptStream = OutputStream & { text(): string };

function kept(screen?: Screen): KeptStream {
  let text = '';
  return {
    isTTY: true,
    columns: 100,
    write(chunk) {
      const written = Buffer.from(chunk).toString('utf8');
      text += written;
      screen?.write(written);
      return Promise.resolve();
    },
    text: () => text,
  };
}
