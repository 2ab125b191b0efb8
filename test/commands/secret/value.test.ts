import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';

const VALUE = 'value-of-a-secret-4711';

function json<T>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

interface SecretJson {
  name: string;
  description: string | null;
  changed?: boolean;
}

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const secret = (...args: string[]): Promise<Ended> => world.acs('secret', ...args);
  const fromStdin = (name: string, value: string, ...flags: string[]) =>
    world.invoke({ args: ['secret', 'set', name, '-', ...flags], stdin: value });
  const all = async () =>
    json<{ items: SecretJson[] }>(await secret('list', '--all-pages', '--json')).items.map(({ name }) => name);

  it('reads a value from stdin, a file and the environment, and prints it nowhere', async () => {
    await writeFile(path.join(world.dir, 'value.txt'), `${VALUE}\n`);
    const env = { MY_VALUE: VALUE };
    const ended = [
      await fromStdin('FROM_STDIN', `${VALUE}\n`, '--json', '--debug'),
      await secret('set', 'FROM_FILE', '@value.txt', '--description', 'of a file', '--json'),
      await secret('set', 'FROM_FILE_TOO=@value.txt'),
      await world.invoke({ args: ['secret', 'set', 'FROM_ENV', '--from-env', 'MY_VALUE', '--json'], env }),
    ];
    for (const { code, out, err } of ended) {
      expect(code, err).toBe(0);
      expect(out + err).not.toContain(VALUE);
    }
    expect(json(ended[1] as Ended)).toEqual({ name: 'FROM_FILE', description: 'of a file', changed: true });
    expect(await all()).toEqual(['FROM_ENV', 'FROM_FILE', 'FROM_FILE_TOO', 'FROM_STDIN']);
  });
});
