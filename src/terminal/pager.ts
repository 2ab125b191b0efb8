/** Shows what is longer than the screen in the pager of the user: ACS_PAGER, PAGER, else less. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutKeys } from '../base/text/secret-names.ts';
import { widthOf } from '../base/text/width.ts';
import { splitCommand } from './editor.ts';
import type { OutputStream } from '../base/streams.ts';

export interface PagerOptions {
  stdout: OutputStream;
  env: NodeJS.ProcessEnv;
  platform: string;
  /** Ctrl-C belongs to the pager; the result undoes it. */
  ignoreInterrupts: () => () => void;
}

/** Resolves when the pager has ended. Where none can be started, the text goes to stdout. */
export async function page(
  text: string,
  { stdout, env, platform, ignoreInterrupts }: PagerOptions,
): Promise<void> {
  const [program = 'cat', ...args] = splitCommand(
    env.ACS_PAGER ?? env.PAGER ?? 'less -FRX',
    platform,
  );
  const { columns = Infinity, rows = Infinity } = stdout;
  // The last row is that of the shell's prompt.
  const height = text
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  if (program === 'cat' || height <= rows) return await stdout.write(text);
  const restore = ignoreInterrupts();
  try {
    const child = spawn(program, args, {
      stdio: ['pipe', 'inherit', 'inherit'],
      // Without a locale less shows UTF-8 as `<E2><80><A6>`.
      env: { LESS: 'FRX', LV: '-c', LESSCHARSET: 'utf-8', ...withoutKeys(env) },
    });
    // A pager that ends early does not read everything.
    child.stdin.on('error', () => undefined).end(text);
    await once(child, 'close').catch(() => stdout.write(text));
  } finally {
    restore();
  }
}
