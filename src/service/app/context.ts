import type { Clock } from '../lifecycle/clock.ts';
import type { ServiceApi } from '../lifecycle/service-options.ts';
import type { ReplayStep } from '../base/steps.ts';
import type { Store } from '../storage/index.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { EventLogs } from '../storage/event-logs.ts';
import type { Activity } from '../lifecycle/activity.ts';
import type { Pages } from './pages.ts';
import type { V0EventReader } from './v0-events.ts';
import type { Starter } from './starts/starter.ts';
import type { SpecChoice } from '../sandboxes/specs.ts';
import type { Supervisor } from '../sandboxes/supervisor.ts';

export interface AppContext {
  store: Store;
  supervisor: Supervisor;
  starter: Starter;
  logs: EventLogs;
  clock: Clock;
  key: string;
  api: ServiceApi;
  host: string;
  version: string;
  /** Of the package. */
  root: string;
  specs: SpecChoice;
  log(line: string): void;
  faults?: readonly FaultRule[];
  /** The replay of conversations that name no replay; null: they use the model of the settings. */
  defaultReplay: ReplayStep[] | null;
  pages: Pages;
  activity: Activity;
  readV0Events: V0EventReader;
  /** RFC 3339. */
  startedAt: string;
}
