import { expect, it } from 'vitest';
import { sandboxStatus } from '../../../src/servers/v1/records.ts';

it('a sandbox status that is not known yet is shown as such', () => {
  expect([sandboxStatus('PAUSED'), sandboxStatus('SHELVED'), sandboxStatus(null)]).toEqual([
    'paused',
    'unknown(shelved)',
    null,
  ]);
});
