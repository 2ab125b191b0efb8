import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** As in the build, conf writes with a file of the project. */
export const confWriter = {
  alias: {
    atomically: fileURLToPath(new URL('src/local/profiles/conf-writer.ts', import.meta.url)),
  },
  server: { deps: { inline: ['conf'] } },
};

const report = process.env.ACS_TEST_REPORT;

// Each Node process reads this file at its start, which takes longer than all else. No test leaves
// this machine.
delete process.env.NODE_EXTRA_CA_CERTS;

/**
 * The test files that use the idle clock, which share no process with others. Paths from the root
 * of the package, which is the working directory.
 */
const withIdleClock = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .filter(
    (file) =>
      file.startsWith('test/misbehaviour/') ||
      /\b(idleClock|useLoose|useIdleV1)\b/.test(readFileSync(file, 'utf8')),
  );

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

/** The order of test files: by size, as Vitest has it, but first the small ones that take long. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONG.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * The last line of a run in which cases were skipped: how many. A case is skipped where the machine
 * lacks a program.
 */
const notRun: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const count = modules.reduce(
      (sum, module) => sum + [...module.children.allTests('skipped')].length,
      0,
    );
    if (count > 0) process.stdout.write(`${count} ${count === 1 ? 'case' : 'cases'} not run\n`);
  },
};

export default defineConfig({
  define: { ACS_VERSION: JSON.stringify(version) },
  test: {
    ...confWriter,
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
    // most, see `until`), and a bound that is hit means that one never came.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // For a machine that counts: the file that gets the results as JSON.
    reporters: [
      'default',
      notRun,
      ...(report ? [['json', { outputFile: report }] as ['json', object]] : []),
    ],
  },
});
