/** Runs the contract on the target that ACS_CONTRACT_TARGET names: the local service, or a genuine release. */
import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASES } from './cases/index.ts';
import { createGenuineTarget } from './genuine.ts';
import { createLocalTarget } from './local.ts';
import type { Target } from './target.ts';

const name = process.env.ACS_CONTRACT_TARGET ?? 'local';
const report = process.env.ACS_CONTRACT_REPORT;
const CASE_TIMEOUT_MS = 90_000;

let target: Target | undefined;

beforeAll(async () => {
  if (name === 'local') target = await createLocalTarget('both');
  else if (name === 'local-v0') target = await createLocalTarget('v0');
  else target = await createGenuineTarget(name);
}, 180_000);

afterAll(async () => {
  await target?.close();
}, 60_000);

/** One line for the table: which case, how it ended, and why it failed. */
function tell(name: string, verdict: string, startedMs: number, error?: unknown): void {
  if (report === undefined) return;
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  const why = error instanceof Error ? error.message.slice(-600) : undefined;
  appendFileSync(report, `${JSON.stringify({ name, verdict, seconds, why })}\n`);
}

describe(`the contract on ${name}`, () => {
  for (const { name: title, run, timeoutMs } of CASES) {
    it(
      title,
      async () => {
        const startedMs = performance.now();
        expect(target, 'the target').toBeDefined();
        try {
          tell(title, (await run(target as Target)) ?? 'passed', startedMs);
        } catch (error) {
          tell(title, 'failed', startedMs, error);
          throw error;
        }
      },
      timeoutMs ?? CASE_TIMEOUT_MS,
    );
  }
});
