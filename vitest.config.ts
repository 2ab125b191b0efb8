import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { filesWithIdleClock } from './test/support/idle-clock-files.ts';
import { LongestFirst } from './test/support/longest-first.ts';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const withIdleClock = filesWithIdleClock();
const report = process.env.ACS_TEST_REPORT;

// Each Node process reads this file at its start, which takes longer than all else. No test leaves
// this machine.
delete process.env.NODE_EXTRA_CA_CERTS;

export default defineConfig({
  define: { ACS_VERSION: JSON.stringify(version) },
  test: {
    // The files of a project share worker processes, and so the modules that these have loaded. The
    // idle clock waits until nothing is active in its process. A file that has only real clocks may
    // leave something active, such as a process that ends later: the files with the idle clock
    // share workers only with each other.
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: 'idle-clock', include: withIdleClock, provide: { passesWhileIdle: true } },
      },
      {
        extends: true,
        test: { name: 'real-clock', include: ['test/**/*.test.ts'], exclude: withIdleClock },
      },
    ],
    globalSetup: ['test/support/build-is-current.ts'],
    // Processes, not threads: tests change directories, send signals and start processes of their
    // own.
    pool: 'forks',
    // A test waits for processes that it has started: a third worker has room on two cores.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Generous, for a machine that is slow and busy: a test waits for conditions (for a minute at
    // most, see test/support/until.ts), and a bound that is hit means that one never came.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // For a machine that counts: the file that gets the results as JSON.
    reporters: report
      ? ['default', './test/support/not-run.ts', ['json', { outputFile: report }]]
      : ['default', './test/support/not-run.ts'],
  },
});
