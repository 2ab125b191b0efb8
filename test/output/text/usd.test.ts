import { expect, it } from 'vitest';
import { formatUsd } from '../../../src/base/text/usd.ts';

it.each([
  [0, '$0.00'],
  [0.18, '$0.18'],
  [12.345, '$12.35'],
  [0.0042, '$0.0042'],
])('formatUsd shows %d as %s', (amount, text) => {
  expect(formatUsd(amount)).toBe(text);
});
