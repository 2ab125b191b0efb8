/** What the routes of the app server are handed. */
import type { Clock } from '../lifecycle/clock.ts';
import type { ServiceApi } from '../lifecycle/options.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';
import type { Store } from '../storage/index.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { EventLogs } from '../storage/event-logs.ts';
import type { Starter } from './starts/starter.ts';
import type { SpecChoice } from '../sandboxes/specs.ts';
import type { Supervisor } from '../sandboxes/supervisor.ts';

export interface AppContext {
  store: Store;
  supervisor: Supervisor;
  starter: Starter;
  logs: EventLogs;
  clock: Clock;
  /** The key that requests must bring. */
  key: string;
  api: ServiceApi;
  /** Name or address that the service was asked to listen on. */
  host: string;
  version: string;
  specs: SpecChoice;
  log(line: string): void;
  /** What goes wrong on purpose with requests to the app server; absent: nothing. */
  faults?: readonly FaultRule[];
  /** What conversations play that name no replay, where no model is set; null: they are refused. */
  defaultReplay: ReplayStep[] | null;
  /** Called when a request begins and when its answer is complete; the service ends when nobody calls for long. */
  activity: { begin(): void; end(): void; idleSeconds(): number };
}
