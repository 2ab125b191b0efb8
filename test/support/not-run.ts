/**
 * The last line of a run in which cases were skipped: how many. A case is skipped where the machine
 * lacks a program.
 */
import type { Reporter, TestModule } from 'vitest/node';

export default class NotRun implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const count = modules.reduce(
      (sum, module) => sum + [...module.children.allTests('skipped')].length,
      0,
    );
    if (count > 0) process.stdout.write(`${count} ${count === 1 ? 'case' : 'cases'} not run\n`);
  }
}
