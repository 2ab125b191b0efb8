import { expect, it } from 'vitest';
import { createBeforeStartCheck } from '../../../src/client/v0/quirks/stopped-before-start-v0.ts';

it('a V0 conversation that is STOPPED without an event has not started yet', () => {
  const isBeforeStart = createBeforeStartCheck();
  expect(isBeforeStart({ status: 'STOPPED' }, 0)).toBe(true);
  expect(isBeforeStart({ status: 'STARTING' }, 0)).toBe(false);
  expect(isBeforeStart({ status: 'STOPPED' }, 0)).toBe(false);
});

it('a V0 conversation that is STOPPED and has events was stopped', () => {
  expect(createBeforeStartCheck()({ status: 'STOPPED' }, 3)).toBe(false);
});
