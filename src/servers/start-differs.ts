/** Errors of a start that differs from its request. The conversation exists and continues, and is not started again. */
import { AppError } from '../errors.ts';
import { normalId } from './ids.ts';

/** `id`: of the conversation, or of its start task. */
export function startDiffers(message: string, id: string, values: { requested: unknown; received: unknown }): AppError {
  return new AppError('server', message, {
    hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
    data: { conversation_id: id, ...values },
  });
}

export function ignoredId(asked: string, id: string): AppError {
  const requested = normalId(asked);
  const message = `the server ignored --id ${requested} and started conversation ${id}`;
  return startDiffers(message, id, { requested, received: id });
}

export function ignoredBranch(asked: string, got: string, id: string): AppError {
  const message = `the server ignored --branch ${asked} and started the conversation on ${got}`;
  return startDiffers(message, id, { requested: asked, received: got });
}
