/** What a worker reports of its sandbox and its conversations, written to the store. */
import type { WorkerNotice } from './worker-protocol.ts';
import type { SupervisorOptions } from './supervision.ts';
import type { SandboxStatusWriter } from './status-writer.ts';

interface Writing extends Pick<SupervisorOptions, 'log' | 'onConversation'> {
  statuses: SandboxStatusWriter;
}

export function writeNotice(id: string, notice: WorkerNotice, { statuses, log, onConversation }: Writing): void {
  if (notice.type === 'ready') {
    const { port, working_dir } = notice;
    statuses.write(id, { status: 'RUNNING', port, working_dir });
  } else if (notice.type === 'warning') {
    log(`sandbox ${id}: ${notice.text}`);
    statuses.write(id, { status_detail: notice.text });
  } else if (notice.type === 'failed') {
    log(`sandbox ${id}: ${notice.text}`);
  } else if (notice.type === 'conversation') {
    onConversation(id, notice);
  }
}

/** An error while a notice is written, such as a full disk, must not end the service. */
export function guarded(id: string, log: (line: string) => void, work: () => void): void {
  try {
    work();
  } catch (error) {
    log(`sandbox ${id}: what its worker reported could not be written: ${String(error)}`);
  }
}

/** As `guarded`, for a change that is not awaited. */
export function inBackground(id: string, log: (line: string) => void, change: Promise<unknown>): void {
  change.catch((error: unknown) => {
    log(`sandbox ${id}: ${String(error)}`);
  });
}
