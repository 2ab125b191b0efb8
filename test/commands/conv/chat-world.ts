/** `conv chat` in this process: a test types, and reads what the terminal has shown. */
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { run } from '../../../src/cli.ts';
import { createContext } from '../../../src/wire.ts';
import { platformOf, type World } from '../../support/world.ts';
import { finish, replayFile, run as command, until } from './support.ts';

export const KEYS = { enter: '\r', ctrlC: '\x03', ctrlD: '\x04', up: '\x1b[A' } as const;

export interface ChatOnTerminal {
  type(keys: string): void;
  /** All that was written to the terminal, without escape sequences. */
  shown(): string;
  /** Until the terminal shows the text, after what it showed at the last call. */
  sees(text: string): Promise<void>;
  /** Until the prompt is shown with nothing behind it. */
  prompt(): Promise<void>;
  ended: Promise<number>;
}

export function chat(world: Pick<World, 'env' | 'dir'>, ...args: string[]): ChatOnTerminal {
  let written = '';
  let seen = 0;
  const keep = (text: string): void => void (written += text);
  const invocation = { args, columns: 160, env: world.env, cwd: world.dir, onOut: keep, onErr: keep };
  const { platform } = platformOf(invocation);
  const raw = new PassThrough();
  const context = createContext({ ...platform, io: { ...platform.io, stdin: { ...platform.io.stdin, raw } } });
  const shown = (): string => stripVTControlCharacters(written);
  let code: number | null = null;
  const ended = run(['conv', 'chat', ...args], context).then((exitCode) => (code = exitCode));
  const sees = async (text: string, at = (): number => shown().indexOf(text, seen)): Promise<void> => {
    const isShown = (): boolean => at() >= seen;
    await until(() => isShown() || code !== null).catch(() => undefined);
    if (!isShown()) throw new Error(`"${text}" was not shown (exit code ${code}):\n${shown()}`);
    seen = at() + text.length;
  };
  const prompt = () => sees('> ', () => (shown().endsWith('\n> ') ? shown().length - 2 : -1));
  return { type: (keys) => void raw.write(keys), shown, sees: (text) => sees(text), prompt, ended };
}

/** A recorded run for two messages. */
export function twoRuns(world: World): Promise<string> {
  return replayFile(world, 'two-runs.json', [
    command('echo one > a.txt'),
    finish('The first is done.'),
    command('echo two >> a.txt'),
    finish('The second is done.'),
  ]);
}
