import { expect, it } from 'vitest';
import { usedNoModel } from '../../src/domain/conversation.ts';

it.each([
  [0, null, true],
  [0, { input: 0, output: 0 }, true],
  [0, { input: 5, output: 5 }, false],
  [0.1, null, false],
  [0.1, { input: 0, output: 0 }, false],
  [null, null, false],
])('a run of %s dollars with the tokens %j used no model: %s', (cost_usd, tokens, is) => {
  expect(usedNoModel({ cost_usd, tokens })).toBe(is);
});
