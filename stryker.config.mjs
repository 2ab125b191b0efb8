/**
 * `npm run mutation`: changes the sources piece by piece and reports the changes that no test
 * notices.
 */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts' },
  mutate: ['src/{runs,domain,output,local/profiles}/**/*.ts', 'src/service/http/guard.ts:5-9'],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // A changed loop may be without an end: a run of the tests of one change is ended after these.
  timeoutMS: 3_000,
  timeoutFactor: 2,
  // Only what has changed since the last run is run again.
  incremental: true,
  incrementalFile: 'coverage/mutation/incremental.json',
  reporters: ['clear-text', 'progress-append-only', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: 'coverage/mutation/report.json' },
  tempDirName: 'coverage/stryker',
  ignorePatterns: ['dist', 'dist.*', 'coverage', 'docs', 'examples', '*.tgz'],
};
