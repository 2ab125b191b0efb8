/** Whether a command may resume the sandbox that it needs running: for `--resume`, which several verbs have. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';

/** A sandbox that is resumed has to be running within this time. */
export const START_MS = 180_000;

export interface ResumeOptions {
  /** Whether --resume was given. */
  resume?: boolean | undefined;
  /** Of the user, without --resume: for the hint. */
  command: string;
}

interface Paused {
  /** In the error: `the sandbox of conversation <id>`. */
  what: string;
  /** In the question: `sandbox <id>`. */
  name: string;
  /** Status of the sandbox. */
  status: string;
  /** Of the error. */
  data: Record<string, unknown>;
}

/** Prompts on a terminal. Throws `conflict` when neither --resume was given nor the user agrees. */
export async function agreeToResume(
  ctx: Context,
  { what, name, status, data }: Paused,
  { resume, command }: ResumeOptions,
): Promise<void> {
  if (resume) return;
  const state = status === 'error' ? 'in error' : status;
  if (ctx.interactive) {
    const prompt = await ctx.prompt();
    if (await prompt.confirm({ message: `${name} is ${state}. Resume it?`, default: 'yes' })) return;
  }
  throw new AppError('conflict', `${what} is ${state}`, {
    hint: `resume it in the same command: ${command} --resume`,
    data,
  });
}
