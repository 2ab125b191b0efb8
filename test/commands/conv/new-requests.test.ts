import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';

/** Requests besides the reads of the start task, whose number depends on how long the sandbox takes to start. */
const MOST_REQUESTS = 10;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(async () => {
  await world.close();
});

it(`conv new --wait sends at most ${MOST_REQUESTS} requests besides the reads of its start task`, async () => {
  const start = ['conv', 'new', 'Try it', '--replay', 'demo', '--no-repo', '--wait', '--debug'];
  expect((await world.acs(...start)).code).toBe(0);
  const { code, err } = await world.acs(...start);
  const requests = err.split('\n').filter((line) => /^> (GET|POST|PATCH|DELETE) /.test(line));
  const others = requests.filter((line) => !line.includes('/start-tasks?'));
  expect({ code, others, tooMany: others.length > MOST_REQUESTS }).toEqual({ code: 0, others, tooMany: false });
});
