import { allPages, type Page } from '../../domain/pages.ts';
import { AppError } from '../../base/errors.ts';
import { readBashOutput, type BashOutput } from '../../protocol/agent-server/records.ts';
import { asRecord, readPage, requiredText } from '../../protocol/shape.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import { read, type Links } from '../shared/links.ts';
import type { Call } from '../http/call.ts';
import type { Transport } from '../http/transport.ts';

/** The long form of interface 7.5: the short one returns only the last part of a long output. */
export async function runCommand(
  links: Pick<Links, 'clock' | 'signal'>,
  transport: Transport,
  /** `cwd` null: where the agent server runs, which is the workspace. */
  {
    timeoutSeconds,
    safe,
    ...command
  }: Pick<Call, 'safe'> & {
    command: string;
    cwd: string | null;
    timeoutSeconds: number;
  },
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const body = { ...command, timeout: timeoutSeconds };
  const started = await transport.request({
    method: 'POST',
    path: '/api/bash/start_bash_command',
    body,
    safe,
  });
  const id = read(started, (given) => requiredText(asRecord(given, 'command'), 'id', 'command'));
  const parts = new Map<number, BashOutput>();
  const fetchPage = async (page: string | null): Promise<Page<BashOutput>> => {
    const order__gt = parts.size === 0 ? undefined : Math.max(...parts.keys());
    const query = { command_id__eq: id, kind__eq: 'BashOutput', order__gt, page_id: page };
    const path = '/api/bash/bash_events/search';
    const answer = await transport.request({ method: 'GET', path, query, safe: 'read' });
    return read(answer, (given) => readPage(given, 'bash events', readBashOutput));
  };
  const ended = async () => {
    const found: BashOutput[] = [];
    for await (const part of allPages(({ order }) => String(order), fetchPage)) found.push(part);
    for (const part of found) parts.set(part.order, part);
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
