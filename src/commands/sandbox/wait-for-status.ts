import type { Context } from '../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../base/errors.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import { withinDeadline, type TimedContext } from '../shared/derived-context.ts';
import type { Server } from '../../client/shared/server.ts';
import { agreeToResume, START_MS } from '../shared/in-sandbox.ts';
import { findOne } from '../shared/resource.ts';
import { readOrGone, sandboxesOrConversations } from './sandboxes.ts';
import { matchPrefix } from '../../domain/ids.ts';
import type { SandboxStatus } from '../../domain/conversation.ts';
import { formatDuration } from '../../base/text/time.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { cut } from '../../base/text/well-formed.ts';

/**
 * `folder`: where relative paths begin: of the conversation that names the sandbox, else null.
 * Throws `conflict` when it is paused or in error and may not be resumed, `not-found`, `failed`,
 * `timeout`.
 */
export async function findRunning(
  ctx: Context,
  server: Server,
  word: string,
  options: { resume?: boolean; command?: (id: string) => string },
): Promise<{ id: string; folder: string | null; inFolder(path: string): string }> {
  const sandbox = await findOne(ctx, server, sandboxesOrConversations, word);
  await untilRunning(ctx, server, sandbox, options);
  const { id, conversation = conversationByPrefix(sandbox, word) } = sandbox;
  const folder =
    conversation === undefined ? null : await server.conversations.folder(conversation);
  return {
    id,
    inFolder: (path) => (folder === null || path.startsWith('/') ? path : `${folder}/${path}`),
    folder,
  };
}

function conversationByPrefix({ id, conversation_ids }: Sandbox, word: string): string | undefined {
  const match = (ids: readonly string[]) => matchPrefix(word, ids, (each) => [each])[0];
  return match([id]) === undefined ? match(conversation_ids) : undefined;
}

async function untilRunning(
  ctx: Context,
  server: Server,
  { id, status }: Sandbox,
  options: { resume?: boolean; command?: (id: string) => string },
): Promise<void> {
  if (status === 'running') return;
  if (status === 'missing') throw new AppError('not-found', `sandbox ${id} is gone`);
  if (status !== 'starting') {
    if (status === 'unknown')
      throw new AppError('conflict', `sandbox ${id}: the server does not know whether it runs`);
    const data = { id, sandbox_status: status };
    const paused = { what: `sandbox ${id}`, name: `Sandbox ${id}`, status, data };
    await agreeToResume(ctx, paused, { resume: options.resume, command: options.command?.(id) });
    await server.sandboxes.resume(id);
  }
  await withinDeadline(ctx, limitsAfter(ctx, START_MS), (timed) =>
    waitForStatus(timed, { server, id, wanted: ['running'], progress: 'shown' }),
  );
}

/** Throws `failed` and `not-found` unless that status is wanted, `timeout` with the last status. */
export async function waitForStatus(
  ctx: TimedContext,
  wait: {
    server: Server;
    id: string;
    wanted: readonly SandboxStatus[];
    progress: 'shown' | 'hidden';
    onStatus?: (status: SandboxStatus) => void;
  },
): Promise<Sandbox> {
  const { server, id, wanted, onStatus } = wait;
  const { deadline, clock, signal } = ctx;
  const progress =
    wait.progress === 'shown'
      ? await ctx.terminal.progress(`sandbox ${id}: waiting until it is ${wanted.join(' or ')}`)
      : null;
  let status: SandboxStatus | null = null;
  const ifWanted = (sandbox: Sandbox): Sandbox | undefined => {
    const { status_detail } = sandbox;
    const detail = status_detail ? `: ${cut(status_detail, 500)}` : '';
    if (sandbox.status !== status) onStatus?.(sandbox.status);
    status = sandbox.status;
    const isWanted = wanted.includes(status);
    progress?.update(`sandbox ${id}: ${status}${isWanted ? '' : detail}`);
    if (isWanted) return sandbox;
    if (status === 'missing') {
      const text = `sandbox ${id} is gone: it will not become ${wanted.join(' or ')}`;
      throw new AppError('not-found', text);
    }
    if (status !== 'error') return undefined;
    // A sandbox in error keeps this status until it is deleted.
    throw new AppError('failed', `sandbox ${id} ended in an error${detail}`, {
      hint: `delete it and start a new one: acs sandbox delete ${id}`,
      data: { last_status: status, status_detail },
    });
  };
  const poller = { clock, signal, every: STEADY };
  try {
    return await poll(async () => ifWanted(await readOrGone(server, id)), poller).catch(
      async (error: unknown) => {
        if (!deadline.isOver(error)) throw error;
        const last = await deadline.lastRead(server, (late) => readOrGone(late, id));
        const found = last === null ? undefined : ifWanted(last);
        if (found !== undefined) return found;
        const after = `after ${formatDuration(deadline.waitMs)}`;
        const seen = status === null ? '' : `; sandbox ${id} was last seen ${status}`;
        throw new AppError(
          'timeout',
          last === null
            ? `${after} the server does not answer${seen}`
            : `sandbox ${id} is still ${status} ${after}`,
          { hint: `see its status: acs sandbox show ${id}`, data: { last_status: status, id } },
        );
      },
    );
  } finally {
    await progress?.done();
  }
}
