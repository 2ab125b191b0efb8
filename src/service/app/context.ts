/** The context of the routes of the app server. */
import type { Clock } from '../lifecycle/clock.ts';
import type { ServiceApi } from '../lifecycle/service-options.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';
import type { Store } from '../storage/index.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { EventLogs } from '../storage/event-logs.ts';
import type { PageAccess } from './page/access.ts';
import type { Viewers } from './page/viewers.ts';
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
  /** The name or address that the service listens on. */
  host: string;
  version: string;
  specs: SpecChoice;
  log(line: string): void;
  /** Rules of fault injection for requests to the app server; absent: none. */
  faults?: readonly FaultRule[];
  /** The default replay of conversations when no model is set; null: they are refused. */
  defaultReplay: ReplayStep[] | null;
  /** Pages of conversations in browsers. */
  pages: { access: PageAccess; viewers: Viewers };
  /**
   * Called when a request begins and when its answer is complete; without a call the service ends after its timeout.
   */
  activity: { begin(): void; end(): void; idleSeconds(): number };
}
