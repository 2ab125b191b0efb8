import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };

/** Tests without the idle clock: plain calls, and the servers of the local service. */
const SHARED = [
  'test/{domain,output,profiles,protocol,text}/**/*.test.ts',
  'test/service/{app,http,storage}/**/*.test.ts',
];

const report = process.env.ACS_TEST_REPORT;

export default defineConfig({
  define: { ACS_VERSION: JSON.stringify(version) },
  test: {
    projects: [
      // A worker loads a module once for all these files. The others get a process each: the idle clock waits until
      // nothing is active in its process, and what an earlier file has left there would keep it waiting.
      { extends: true, test: { name: 'shared', include: SHARED, isolate: false } },
      { extends: true, test: { name: 'process', include: ['test/**/*.test.ts'], exclude: SHARED } },
    ],
    globalSetup: ['test/support/build-is-current.ts'],
    // Processes, not threads: tests change directories, send signals and start processes of their own.
    pool: 'forks',
    // A test waits for processes that it has started: a third worker has room on two cores.
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
