import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };

const report = process.env.ACS_TEST_REPORT;

export default defineConfig({
  define: { ACS_VERSION: JSON.stringify(version) },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build-is-current.ts'],
    // Processes, not threads: tests change directories, send signals and start processes of their own.
    pool: 'forks',
    // No source keeps state between calls: a worker loads a module once for all its files, which saves 0.4 s of CPU
    // time a file.
    isolate: false,
    // With two workers the processors were idle for two fifths of a run: a test waits for processes that it has started.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Generous, for a machine that is slow and busy: a test waits for conditions (for a minute at most, see
    // test/support/until.ts), and a bound that is hit means that one never came.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // For a machine that counts: the file that gets the results as JSON.
    reporters: report
      ? ['default', './test/support/not-run.ts', ['json', { outputFile: report }]]
      : ['default', './test/support/not-run.ts'],
  },
});
