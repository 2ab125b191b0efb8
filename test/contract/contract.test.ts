/**
 * Runs the contract on the target that ACS_CONTRACT_TARGET names: the local service, a genuine
 * release, or a release of a client of the local service (`<client>@<release>`: of that genuine
 * server instead). ACS_CONTRACT_CASES names a JSON file with the titles of the cases to run,
 * ACS_CONTRACT_PART=1/2 chooses every second name; without them all run. ACS_CONTRACT_REPORT names
 * the file that gets a line for each case.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  record,
  shortened,
  type ContractCase,
  type Target,
  type Transcript,
  type Verdict,
} from './target.ts';
import { AUTH } from './cases/auth.ts';
import { BATCHING, STARTING } from './cases/starting.ts';
import { CALLING, LISTS, OPENING } from './cases/reading.ts';
import { CHANGING, CONFIRMING } from './cases/changing.ts';
import { COPYING, SANDBOXES } from './cases/sandboxes.ts';
import { EXPORTING, REPOSITORIES } from './cases/repositories.ts';
import { FAILURES, RESTART } from './cases/failures.ts';
import { FOLLOWING, SENDING } from './cases/following.ts';
import { GIT_PROVIDERS, SECRETS, SETTINGS } from './cases/settings.ts';
import { PROGRAMS } from './cases/programs.ts';
import { BACKENDS, CLIENTS, TOOLS } from '../genuine/set-up.mjs';
import { clientCases } from './clients.ts';
import { documentCases } from './documents.ts';
import { createBackendTarget, createGenuineTarget } from './genuine.ts';
import { createLocalTarget } from './local.ts';

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

const [name = '', beside] = (process.env.ACS_CONTRACT_TARGET ?? 'local').split('@');
const report = process.env.ACS_CONTRACT_REPORT;
const only = process.env.ACS_CONTRACT_CASES;
const part = process.env.ACS_CONTRACT_PART;
/** On a loaded machine a genuine server starts slowly. */
const START_TIMEOUT_MS = 600_000;
/**
 * For what no bound of a step ends (STEP_MS); a case has several, and may start its server again.
 */
const CASE_TIMEOUT_MS = 360_000;

let target: Target | undefined;
let transcript: Transcript | undefined;

beforeAll(async () => {
  if (beside !== undefined) target = await createGenuineTarget(beside);
  else if (name === 'local' || CLIENTS.includes(name)) target = await createLocalTarget('both');
  else if (name === 'local-v0') target = await createLocalTarget('v0');
  else if (BACKENDS.includes(name)) target = await createBackendTarget(name);
  else target = await createGenuineTarget(name);
  transcript = record(target);
}, START_TIMEOUT_MS);

afterAll(async () => {
  await target?.close();
}, 180_000);

const titleOf = ({ name, dialect }: ContractCase): string =>
  dialect === undefined ? name : `${name} (${dialect})`;

function selected(): readonly ContractCase[] {
  const ofClient = TOOLS.includes(name) ? documentCases : clientCases;
  const cases = CLIENTS.includes(name) ? ofClient(name) : CASES;
  if (only === undefined) return partOf(cases);
  const titles = JSON.parse(readFileSync(only, 'utf8')) as string[];
  const unknown = titles.filter((title) => !cases.some((each) => titleOf(each) === title));
  if (unknown.length > 0) throw new Error(`there is no case ${unknown.join(', nor ')}`);
  return cases.filter((each) => titles.includes(titleOf(each)));
}

/**
 * Every n-th name, in both dialects: neighbours are cases of one subject, which take similar times.
 */
function partOf(cases: readonly ContractCase[]): readonly ContractCase[] {
  const [index, count] = (part ?? '1/1').split('/').map(Number) as [number, number];
  const names = [...new Set(cases.map((each) => each.name))];
  return cases.filter((each) => names.indexOf(each.name) % count === index - 1);
}

/**
 * One line of the report: which case, how it ended, why it failed or could not come about, and what
 * it did.
 */
function enter(each: ContractCase, verdict: Verdict | Error, startedMs: number): void {
  if (report === undefined) return;
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  const { name, dialect } = each;
  const entry = { name, dialect, ...reported(verdict), seconds, output: transcript?.take() };
  appendFileSync(report, `${JSON.stringify(entry)}\n`);
}

function reported(verdict: Verdict | Error): {
  verdict: string;
  why?: string;
  conversationSeconds?: number;
} {
  if (verdict instanceof Error)
    return { verdict: 'failed', why: shortened(verdict.message, 1_000) };
  if (typeof verdict === 'string') return { verdict };
  return 'notHere' in verdict
    ? { verdict: 'not here', why: verdict.notHere }
    : { verdict: 'passed', ...verdict };
}

describe(`the contract on ${name}`, () => {
  for (const each of selected()) {
    it(
      titleOf(each),
      async ({ onTestFailed }) => {
        const startedMs = performance.now();
        onTestFailed(({ task }) =>
          enter(each, new Error(task.result?.errors?.[0]?.message ?? 'it failed'), startedMs),
        );
        expect(target, 'the target').toBeDefined();
        enter(each, (await each.run(target as Target)) ?? 'passed', startedMs);
      },
      CASE_TIMEOUT_MS,
    );
  }
});
