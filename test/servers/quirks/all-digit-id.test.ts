import { expect, it } from 'vitest';
import { freshId } from '../../../src/servers/quirks/all-digit-id.ts';

it('a new id contains at least one letter', () => {
  const made = ['12345678-1234-4234-8234-123456789012', '12345678-1234-4234-8234-12345678901a'];
  expect(freshId(() => made.shift() ?? '')).toBe('1234567812344234823412345678901a');
});
