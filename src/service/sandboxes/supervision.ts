/** The interface of the supervisor of sandboxes, and its options (supervisor.ts). */
import type { Clock } from '../lifecycle/clock.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';
import type { Store } from '../storage/index.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { ConversationNotice, SandboxSpecName } from './worker-protocol.ts';
import type { AgentAnswer, AgentClient, AgentRequest } from './agent-client.ts';
import type { SpecChoice } from './specs.ts';

export interface SupervisorOptions {
  store: Store;
  clock: Clock;
  root: string;
  specs: SpecChoice;
  /** Folder of `<sandbox>/` workspaces. */
  workspacesDir: string;
  /** Folder of `<sandbox>/<conversation>.db` event logs. */
  eventsDir: string;
  env: Readonly<Record<string, string | undefined>>;
  log(line: string): void;
  onConversation(sandboxId: string, notice: ConversationNotice): void;
  /** Environment of processes inside; read when a worker is started. */
  initialEnv?(): Record<string, string>;
  /** Rules of fault injection for requests to the agent servers. */
  faults?: FaultRule[];
  /** The replay of conversations that are started at an agent server without one; null: none. */
  defaultReplay: ReplayStep[] | null;
  /** Sandboxes that may run at once; one more pauses the one that has been idle longest. */
  maxRunning?: number;
}

/** The sandbox does not exist, does not run, or could not be started. */
export class SandboxUnavailable extends Error {
  override readonly name = 'SandboxUnavailable';
}

/**
 * The row of a sandbox that runs.
 * @throws SandboxUnavailable for any other
 */
export function runningRow(row: SandboxRow | null, id: string): SandboxRow {
  if (row === null) throw new SandboxUnavailable(`Sandbox not found: ${id}`);
  if (row.status === 'RUNNING') return row;
  throw new SandboxUnavailable(`Sandbox is ${row.status}${row.status_detail === null ? '' : `: ${row.status_detail}`}`);
}

/**
 * Sends a request to the agent server of a sandbox.
 * @throws SandboxUnavailable when it does not run or cannot be reached
 */
export async function askSandbox(
  client: AgentClient,
  row: SandboxRow | null,
  request: AgentRequest,
): Promise<AgentAnswer> {
  if (row?.status !== 'RUNNING' || row.port === null) {
    throw new SandboxUnavailable(`Sandbox is ${row?.status ?? 'MISSING'}`);
  }
  try {
    return await client.send(row.port, row.session_api_key, request);
  } catch (error) {
    throw new SandboxUnavailable(`the agent server cannot be reached: ${(error as Error).message}`);
  }
}

/**
 * @param running the sandbox once it runs; rejects with SandboxUnavailable when it does not come to that
 * @param deleted aborted when the deletion of the sandbox is requested
 */
export type SandboxWork<Result> = (running: Promise<SandboxRow>, deleted: AbortSignal) => Promise<Result>;

export interface Supervisor {
  /**
   * Writes a new sandbox as STARTING and starts its worker; does not wait for it. Null: the default spec.
   * @throws SpecRefused
   */
  create(spec: SandboxSpecName | null): SandboxRow;
  /** Settles when the sandbox runs. Rejects with SandboxUnavailable when it cannot be started. */
  whenRunning(id: string): Promise<SandboxRow>;
  /** Stops every process inside, after all earlier changes; settles when it is PAUSED. False: no such sandbox. */
  pause(id: string): Promise<boolean>;
  /**
   * Starts it again with the isolation it had, after every change requested before; settles when that has begun, so that
   * its status is no older. False: no such sandbox.
   * @param spec the spec that the request names; null: none
   * @throws SpecRefused
   */
  resume(id: string, spec?: string | null): Promise<boolean>;
  /**
   * Does work that needs the sandbox running, which is started again for it. A pause or an eviction requested during it
   * is applied afterwards; a deletion aborts `deleted`.
   * @throws SandboxUnavailable, SpecRefused
   */
  use<Result>(id: string, work: SandboxWork<Result>): Promise<Result>;
  /** Ends the sandbox and removes its workspace; its event logs stay. False: no such sandbox. */
  remove(id: string): Promise<boolean>;
  /** How many clients follow over the web sockets of the sandboxes. */
  subscribers(): number;
  /**
   * Sends a request to the agent server of a running sandbox. Rejects with SandboxUnavailable when it cannot be
   * reached.
   */
  send(id: string, request: AgentRequest): Promise<AgentAnswer>;
  workspaceOf(id: string): string;
  eventsOf(id: string): string;
  /** Ends every worker. */
  close(): Promise<void>;
}
