import { describe } from 'vitest';
import { whyNoBubblewrap } from '../../src/service/isolation/detect.ts';
import type { SandboxSpecName } from '../../src/service/sandboxes/worker-protocol.ts';

/** Whether cases that need bubblewrap can run here; those that cannot are skipped, which counts them (not-run.ts). */
export const hasBubblewrap = (await whyNoBubblewrap(process.env)) === null;

/** The same cases for a sandbox of either spec. */
export function describeEachSpec(title: string, cases: (spec: SandboxSpecName) => void): void {
  for (const spec of ['bubblewrap', 'process'] as const) {
    describe.runIf(spec === 'process' || hasBubblewrap)(title.replace('%s', spec), () => {
      cases(spec);
    });
  }
}
