import { expect, it } from 'vitest';
import { json } from '../commands/conv/support.ts';
import { looseTrap } from './support/trap.ts';

it('conv new --stop-on-timeout reads a missing status of the stopped run again', async () => {
  const trap = await looseTrap();
  const options: { omits?: readonly string[] } = trap.options;
  let readsWithoutStatus = 0;
  trap.before = ({ method, path }) => {
    if (method === 'POST' && /(pause|interrupt)$/.test(path)) options.omits = ['execution_status'];
    if (options.omits === undefined || method !== 'GET' || path !== '/api/v1/app-conversations') return null;
    // More reads than one look at a record without a status makes.
    if (++readsWithoutStatus === 9) delete options.omits;
    return null;
  };
  try {
    const ended = await trap.acs(
      'conv',
      'new',
      'WORK',
      '--no-repo',
      '--wait',
      '--wait-timeout',
      '5s',
      '--stop-on-timeout',
      '--json',
    );
    expect(ended.code, ended.err).toBe(124);
    expect(readsWithoutStatus).toBe(9);
    expect(json(ended)).toMatchObject({ status: 'paused', outcome: { status: 'paused' } });
  } finally {
    await trap.close();
  }
});
