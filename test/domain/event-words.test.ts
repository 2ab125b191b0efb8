import { expect, it } from 'vitest';
import { actionIdOf, elapsed } from '../../src/domain/event-words.ts';

it('elapsed writes minutes and seconds, and hours from one hour on', () => {
  expect([0, 65_000, 3_725_000, -1].map(elapsed)).toEqual(['0:00', '1:05', '1:02:05', '0:00']);
});

it('actionIdOf is the id of the action that an observation answers, in either dialect', () => {
  const idOf = (payload: Record<string, unknown>) => actionIdOf({ payload });
  expect([idOf({ action_id: 'a-1' }), idOf({ cause: 7 }), idOf({})]).toEqual(['a-1', '7', null]);
});
