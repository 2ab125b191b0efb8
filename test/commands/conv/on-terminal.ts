/** Runs acs on a terminal whose person gives the answers of a test. */
import { PassThrough } from 'node:stream';
import { run } from '../../../src/cli.ts';
import { clockFrom } from '../../../src/clock.ts';
import type { OutputStream } from '../../../src/context.ts';
import type { Prompt } from '../../../src/terminal/prompt.ts';
import { createContext } from '../../../src/wire.ts';
import { PACKAGE_ROOT, type Ended, type World } from '../../support/world.ts';

/**
 * Gives the answer to a question; one that never settles is a person who thinks about it. `shown` is what stdout holds.
 */
export type Person = (question: string, until?: AbortSignal, shown?: () => string) => Promise<string>;

export async function onTerminal(world: World, args: string[], person: Person): Promise<Omit<Ended, 'bytes'>> {
  const refused = (): Promise<never> => Promise.reject(new Error('nobody answers this'));
  const prompt: Prompt = {
    confirm: async ({ message }) => (await person(message)) === 'yes',
    input: refused,
    select: async <T extends string>({ message, until }: { message: string; until?: AbortSignal }) =>
      (await unless(until, person(message, until, stdout.text))) as T,
    secret: ({ message }) => person(message),
    editor: refused,
  };
  const stdout = kept();
  const stderr = kept();
  const context = createContext({
    root: PACKAGE_ROOT,
    io: { stdin: { isTTY: true, raw: new PassThrough(), readAll: () => new Promise(() => {}) }, stdout, stderr },
    env: world.env,
    cwd: world.dir,
    home: world.home,
    platform: process.platform,
    clock: clockFrom(() => Date.now()),
    signal: new AbortController().signal,
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

function kept(): OutputStream & { text(): string } {
  let text = '';
  return {
    isTTY: true,
    columns: 100,
    write(chunk) {
      text += Buffer.from(chunk).toString('utf8');
      return Promise.resolve();
    },
    text: () => text,
  };
}
