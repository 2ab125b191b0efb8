/** The order of test files: by size, as Vitest has it, but first the small ones that take long. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * They start many sandboxes, or wait for limits of seconds. Begun last, one of them would keep the
 * run waiting.
 */
const LONG = [
  'test/contract/contract.test.ts',
  'test/recordings/agreement.test.ts',
  'test/e2e/live-page.test.ts',
  'test/e2e/pipes.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONG.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
