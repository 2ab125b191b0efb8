/** Commands in a sandbox beside the agent (interface 7.5). */
import { allPages, type Page } from '../../domain/pages.ts';
import { AppError } from '../../errors.ts';
import { readBashOutput, type BashOutput } from '../../protocol/agent-server/records.ts';
import { asRecord, readPage, requiredText } from '../../protocol/shape.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import { read, type Links } from '../links.ts';
import type { Call } from '../transport/call.ts';
import type { Transport } from '../transport/transport.ts';

/** A command of the shell of a sandbox. */
export interface ShellCommand {
  command: string;
  /** Null: where the agent server runs, which is the workspace. */
  cwd: string | null;
  timeoutSeconds: number;
  /** `read`: the command changes nothing. */
  safe: Call['safe'];
}

/** The long form of interface 7.5: the short one returns only the last part of a long output. */
export async function runCommand(
  links: Pick<Links, 'clock' | 'signal'>,
  transport: Transport,
  { command, cwd, timeoutSeconds, safe }: ShellCommand,
): Promise<CommandResult> {
  const started = await transport.request({
    method: 'POST',
    path: '/api/bash/start_bash_command',
    body: { command, cwd, timeout: timeoutSeconds },
    safe,
  });
  const id = read(started, (body) => requiredText(asRecord(body, 'command'), 'id', 'command'));
  const pieces = new Map<number, BashOutput>();
  const until = links.clock.now() + (timeoutSeconds + 15) * 1000;
  const ended = async (): Promise<CommandResult | undefined> => {
    for (const piece of await commandOutput(transport, id, pieces)) pieces.set(piece.order, piece);
    const last = [...pieces.values()].find((piece) => piece.exit_code !== null);
    return last !== undefined && pieces.size > last.order ? joined(pieces, last.exit_code ?? 0) : undefined;
  };
  const result = await poll(ended, { ...links, every: QUICK, until });
  if (result !== undefined) return result;
  throw new AppError('server', 'a command in the sandbox did not end in time', { retryable: true });
}

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

function joined(pieces: Map<number, BashOutput>, exitCode: number): CommandResult {
  const inOrder = [...pieces.values()].sort((a, b) => a.order - b.order);
  return {
    exitCode,
    stdout: inOrder.map((piece) => piece.stdout).join(''),
    stderr: inOrder.map((piece) => piece.stderr).join(''),
  };
}

/** Parts of the output after the last one that was read, through all pages. */
async function commandOutput(transport: Transport, id: string, known: Map<number, BashOutput>): Promise<BashOutput[]> {
  const found: BashOutput[] = [];
  const fetchPage = async (page: string | null): Promise<Page<BashOutput>> => {
    const query = {
      command_id__eq: id,
      kind__eq: 'BashOutput',
      order__gt: known.size === 0 ? undefined : Math.max(...known.keys()),
      page_id: page,
    };
    const answer = await transport.request({
      method: 'GET',
      path: '/api/bash/bash_events/search',
      query,
      safe: 'read',
    });
    return read(answer, (body) => readPage(body, 'bash events', readBashOutput));
  };
  for await (const piece of allPages(({ order }) => String(order), fetchPage)) found.push(piece);
  return found;
}
