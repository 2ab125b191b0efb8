import { collectPages, type Page } from '../../domain/pages.ts';
import { AppError } from '../../base/errors.ts';
import { readBashOutput, type BashOutput } from '../../protocol/agent-server/records.ts';
import { asRecord, readPage, requiredText } from '../../protocol/shape.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import { read, type Links } from '../shared/links.ts';
import type { Call } from '../http/call.ts';
import type { Transport } from '../http/transport.ts';

interface CommandOptions {
  command: string;
  timeoutSeconds: number;
  safe: Call['safe'];
}

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Longer output is cut off at its beginning by the short form of interface 7.5. */
export const SHORT_BYTES = 1_000_000;

/** One request. `cwd` is the workspace without one. */
export async function runShortCommand(
  transport: Pick<Transport, 'request'>,
  { timeoutSeconds, safe, ...command }: CommandOptions & { cwd?: string },
): Promise<CommandResult> {
  const answer = await transport.request({
    method: 'POST',
    path: '/api/bash/execute_bash_command',
    body: { ...command, timeout: timeoutSeconds },
    timeoutMs: timeoutSeconds * 1000,
    safe,
  });
  const { exit_code, stdout, stderr } = read(answer, readBashOutput);
  return { exitCode: exit_code ?? -1, stdout, stderr };
}

/** Returns all output, with some requests. `cwd` null: the workspace. */
export async function runCommand(
  links: Pick<Links, 'clock' | 'signal'>,
  transport: Pick<Transport, 'request'>,
  { timeoutSeconds, safe, ...command }: CommandOptions & { cwd: string | null },
): Promise<CommandResult> {
  const started = await transport.request({
    method: 'POST',
    path: '/api/bash/start_bash_command',
    body: { ...command, timeout: timeoutSeconds },
    safe,
  });
  const id = read(started, (body) => requiredText(asRecord(body, 'command'), 'id', 'command'));
  const parts = new Map<number, BashOutput>();
  const fetch = async (page: string | null): Promise<Page<BashOutput>> => {
    const order__gt = parts.size === 0 ? undefined : Math.max(...parts.keys());
    const query = { command_id__eq: id, kind__eq: 'BashOutput', order__gt, page_id: page };
    const answer = await transport.request({ path: '/api/bash/bash_events/search', query });
    return read(answer, (body) => readPage(body, 'bash events', readBashOutput));
  };
  const ended = async () => {
    const { items } = await collectPages({ fetch, id: ({ order }) => String(order) });
    for (const part of items) parts.set(part.order, part);
    const inOrder = [...parts.values()].sort((a, b) => a.order - b.order);
    const last = inOrder.find((part) => part.exit_code !== null);
    if (last === undefined || parts.size <= last.order) return undefined;
    const all = (stream: 'stdout' | 'stderr') => inOrder.map((part) => part[stream]).join('');
    return { exitCode: last.exit_code ?? 0, stdout: all('stdout'), stderr: all('stderr') };
  };
  const until = links.clock.now() + (timeoutSeconds + 15) * 1000;
  const result = await poll(ended, { ...links, every: QUICK, until });
  if (result !== undefined) return result;
  throw new AppError('server', 'a command in the sandbox did not end in time', { retryable: true });
}
