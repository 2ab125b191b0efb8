import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ended } from '../../support/world.ts';
import { json, useSecrets, VALUE } from './support.ts';

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  const at = useSecrets(api);
  const { secret, fromStdin, all } = at;

  it('reads a value from stdin, a file and the environment, and prints it nowhere', async () => {
    await writeFile(path.join(at.world.dir, 'value.txt'), `${VALUE}\n`);
    const env = { MY_VALUE: VALUE };
    const ended = [
      await fromStdin('FROM_STDIN', `${VALUE}\n`, '--json', '--debug'),
      await secret('set', 'FROM_FILE', '@value.txt', '--description', 'of a file', '--json'),
      await secret('set', 'FROM_FILE_TOO=@value.txt'),
      await at.world.invoke({ args: ['secret', 'set', 'FROM_ENV', '--from-env', 'MY_VALUE', '--json'], env }),
    ];
    for (const { code, out, err } of ended) {
      expect(code, err).toBe(0);
      expect(out + err).not.toContain(VALUE);
    }
    expect(json(ended[1] as Ended)).toEqual({ name: 'FROM_FILE', description: 'of a file', changed: true });
    expect(await all()).toEqual(['FROM_ENV', 'FROM_FILE', 'FROM_FILE_TOO', 'FROM_STDIN']);
  });
});
