/** Runs the contract on the target that ACS_CONTRACT_TARGET names: the local service, or a genuine release. */
import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASES } from './cases/index.ts';
import { createGenuineTarget } from './genuine.ts';
import { createLocalTarget } from './local.ts';
import type { ContractCase, Target, Verdict } from './target.ts';

const name = process.env.ACS_CONTRACT_TARGET ?? 'local';
const report = process.env.ACS_CONTRACT_REPORT;
/** A bound for what never comes; on a loaded machine a genuine server is slow. */
const CASE_TIMEOUT_MS = 600_000;

let target: Target | undefined;

beforeAll(async () => {
  if (name === 'local') target = await createLocalTarget('both');
  else if (name === 'local-v0') target = await createLocalTarget('v0');
  else target = await createGenuineTarget(name);
}, CASE_TIMEOUT_MS);

afterAll(async () => {
  await target?.close();
}, 180_000);

/** One line for the table: which case, how it ended, and why it failed or could not come about. */
function tell(each: ContractCase, verdict: Verdict | Error, startedMs: number): void {
  if (report === undefined) return;
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  const { name, dialect } = each;
  appendFileSync(report, `${JSON.stringify({ name, dialect, ...told(verdict), seconds })}\n`);
}

function told(verdict: Verdict | Error): { verdict: string; why?: string } {
  if (verdict instanceof Error) return { verdict: 'failed', why: shortened(verdict.message) };
  return typeof verdict === 'string' ? { verdict } : { verdict: 'not here', why: verdict.notHere };
}

describe(`the contract on ${name}`, () => {
  for (const each of CASES) {
    it(
      each.dialect === undefined ? each.name : `${each.name} (${each.dialect})`,
      async ({ onTestFailed }) => {
        const startedMs = performance.now();
        onTestFailed(({ task }) => tell(each, new Error(task.result?.errors?.[0]?.message ?? 'it failed'), startedMs));
        expect(target, 'the target').toBeDefined();
        tell(each, (await each.run(target as Target)) ?? 'passed', startedMs);
      },
      CASE_TIMEOUT_MS,
    );
  }
});

/** Both ends tell: what was compared, and what was seen last. */
function shortened(message: string): string {
  return message.length <= 1_000 ? message : `${message.slice(0, 500)} … ${message.slice(-500)}`;
}
