import type { Context } from '../context.ts';
import { timeLimit } from '../../runs/deadline.ts';
import type { Progress } from '../../terminal/progress.ts';

const LATE_MS = 2_000;

/** Progress on a terminal of work that takes longer than 2 s; nothing elsewhere. */
export async function withLateProgress<R>(
  ctx: Context,
  first: string,
  work: (update: (text: string) => void) => Promise<R>,
): Promise<R> {
  let text = first;
  let shown: Promise<Progress> | null = null;
  const late = timeLimit(ctx, LATE_MS);
  late.signal.addEventListener('abort', () => {
    shown = ctx.terminal.progress(text, 'nothing');
  });
  try {
    return await work((next) => {
      text = next;
      void shown?.then((progress) => progress.update(text));
    });
  } finally {
    late.clear();
    await (shown as Promise<Progress> | null)?.then((progress) => progress.done());
  }
}
