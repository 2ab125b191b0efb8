/** The sandbox of a start with `--spec`, at servers whose start does not take a spec: it is created first. */
import { poll, QUICK, STEADY } from '../../runs/poll.ts';
import { AppError, isAppError } from '../../errors.ts';
import { isNotTaken } from '../aborted-start.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { StartProgress } from '../server.ts';
import { getSandbox } from './calls.ts';
import { createSandbox, removeSandbox } from './sandboxes.ts';

/** Whether the start itself takes a spec, and the server creates the sandbox only when it accepts the start. */
export function startsWithSpec({ v1_start_members: members }: ProbeFacts): boolean {
  return members?.includes('sandbox_spec_id') ?? false;
}

/**
 * Creates a sandbox of this spec, waits until it runs, and starts in it; yields the steps. The sandbox is deleted when
 * it does not come up, the start is refused, or its start task ends in error. After an accepted start, which `start`
 * shows by its first step, a refused request is not about the start: the conversation runs in the sandbox.
 */
export async function* startInNewSandbox<T>(
  links: Links,
  specId: string,
  signal: AbortSignal,
  start: (sandboxId: string) => AsyncGenerator<StartProgress, T, void>,
): AsyncGenerator<StartProgress, T, void> {
  const { id } = await createSandbox(links, specId);
  let state: 'unsent' | 'sent' | 'accepted' = 'unsent';
  try {
    yield { start_task_id: '', step: 'creating-sandbox', conversation_id: null, sandbox_id: id };
    await untilRunning(links, id, signal);
    state = 'sent';
    const steps = start(id);
    for (;;) {
      const step = await steps.next();
      if (step.done) return step.value;
      state = 'accepted';
      yield step.value;
    }
  } catch (error) {
    if (hasFailed(error) || (state !== 'accepted' && isRefusal(error))) await discard(links, id);
    else if (state === 'unsent' || isNotTaken(error)) links.notice(remains(id));
    throw error;
  }
}

async function untilRunning(links: Links, id: string, signal: AbortSignal): Promise<void> {
  const isRunning = async (): Promise<true | undefined> => {
    const record = await getSandbox(links, id);
    if (record.status === 'RUNNING') return true;
    if (record.status !== 'ERROR' && record.status !== 'MISSING') return undefined;
    const detail = record.status_detail === null ? '' : `: ${record.status_detail.slice(0, 500)}`;
    throw new AppError('failed', `the sandbox ${id} did not start${detail}`, {
      hint: 'see the specs of the server: acs specs list',
      data: { sandbox_id: id },
    });
  };
  const every = links.app.loopback ? QUICK : STEADY;
  await poll(isRunning, { clock: links.clock, signal: AbortSignal.any([signal, links.signal]), every });
}

/** The sandbox or the start task ended in error. */
function hasFailed(error: unknown): boolean {
  return isAppError(error) && error.kind === 'failed';
}

/** The server did not take the start. */
function isRefusal(error: unknown): boolean {
  if (!isAppError(error)) return false;
  const { status = 0, request } = error.details;
  return request?.method === 'POST' && status >= 400 && status < 500;
}

/** The error of the start is reported, whatever the deletion meets. */
async function discard(links: Links, id: string): Promise<void> {
  try {
    await removeSandbox(links, id);
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.kind !== 'not-found') links.notice(remains(id));
  }
}

function remains(id: string): string {
  return `warning: the sandbox ${id}, created for this start, remains: acs sandbox delete ${id}`;
}
