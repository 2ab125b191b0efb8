import { defineConfig } from 'vitest/config';
import { confWriter } from './vitest.config.ts';

/**
 * The tests that run for each changed piece of code: they call the source directly, and start
 * neither a server nor a process. Those that do, or that read docs/, are named here; each of them
 * would run for hundreds of changes.
 */
const SLOW = [
  'test/domain/pages.test.ts',
  'test/runs/state-machine-docs.test.ts',
  'test/output/jq.test.ts',
  'test/local/profiles/store.test.ts',
];

export default defineConfig({
  define: { ACS_VERSION: JSON.stringify('0.0.0') },
  test: {
    ...confWriter,
    include: [
      'test/{domain,output,local/profiles,runs}/**/*.test.ts',
      'test/service/http/guard.test.ts',
    ],
    exclude: SLOW,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
