import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';

/** Reads of the start task and of the record: their number depends on how long the sandbox and the run take. */
const REPEATED = ['/start-tasks?', '/app-conversations?ids='];
const MOST_REQUESTS = 7;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(async () => {
  await world.close();
});

it(`conv new --wait sends at most ${MOST_REQUESTS} requests besides the reads of its start task and its record`, async () => {
  const start = ['conv', 'new', 'Try it', '--replay', 'demo', '--no-repo', '--wait', '--debug'];
  expect((await world.acs(...start)).code).toBe(0);
  const { code, err } = await world.acs(...start);
  const requests = err.split('\n').filter((line) => /^> (GET|POST|PATCH|DELETE) /.test(line));
  const others = requests.filter((line) => !REPEATED.some((path) => line.includes(path)));
  expect({ code, others, tooMany: others.length > MOST_REQUESTS }).toEqual({ code: 0, others, tooMany: false });
});
