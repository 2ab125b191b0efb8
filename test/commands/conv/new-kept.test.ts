import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useWizardWorld } from './wizard-world.ts';

const at = useWizardWorld();
const { onTerminal } = at;

describe('conv new without a message, on a terminal', () => {
  it('stores a typed message in a file that the error names when the start fails or is refused', async () => {
    for (const [last, code] of [
      [true, 12], // the local service runs no agent with a model
      [false, 2],
    ] as const) {
      const asked = await onTerminal(at.repository, ['--spec', 'process'], ['none', 'Do it all', last]);
      expect(asked.code, asked.err).toBe(code);
      const file = /new\s+--file\s+(\S+)/.exec(asked.err)?.[1] ?? '';
      expect(await readFile(file, 'utf8'), asked.err).toBe('Do it all\n');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await rm(path.dirname(file), { recursive: true });
    }
  });
});
