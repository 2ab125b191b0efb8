/** All cases, in the order they run: those that end the server come last. */
import type { ContractCase } from '../target.ts';
import { AUTH } from './auth.ts';
import { BATCHING } from './batching.ts';
import { CALLING } from './calling.ts';
import { CHANGING } from './changing.ts';
import { CONFIRMING } from './confirming.ts';
import { COPYING } from './copying.ts';
import { EXPORTING } from './exporting.ts';
import { FAILURES } from './failures.ts';
import { FOLLOWING } from './following.ts';
import { GIT_PROVIDERS } from './git-providers.ts';
import { LISTS } from './lists.ts';
import { OPENING } from './opening.ts';
import { PROGRAMS } from './programs.ts';
import { REPOSITORIES } from './repositories.ts';
import { RESTART } from './restart.ts';
import { SANDBOXES } from './sandboxes.ts';
import { SENDING } from './sending.ts';
import { SECRETS } from './secrets.ts';
import { SETTINGS } from './settings.ts';
import { STARTING } from './starting.ts';

export const CASES: readonly ContractCase[] = [
  ...AUTH,
  ...SETTINGS,
  ...SECRETS,
  ...GIT_PROVIDERS,
  ...SANDBOXES,
  ...PROGRAMS,
  ...STARTING,
  ...BATCHING,
  ...FOLLOWING,
  ...SENDING,
  ...CONFIRMING,
  ...CHANGING,
  ...REPOSITORIES,
  ...EXPORTING,
  ...CALLING,
  ...COPYING,
  ...OPENING,
  ...FAILURES,
  ...LISTS,
  ...RESTART,
];
