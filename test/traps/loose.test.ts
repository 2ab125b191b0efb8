/** Commands at a server whose document cannot be read and that ignores parts of a request. */
import { afterEach, describe, expect, it } from 'vitest';
import { looseTrap, type LooseTrap } from './support/trap.ts';
import type { LooseOptions } from '../servers/support/loose-server.ts';

let trap: LooseTrap;
afterEach(() => trap.close());

async function at(options: LooseOptions = {}): Promise<LooseTrap> {
  trap = await looseTrap(options);
  return trap;
}

describe.each([
  ['V1', {}],
  ['V1 and V0', { v0: true }],
])('at a server of %s without a readable document', (_, options) => {
  it('conv new, show, wait and result work', async () => {
    await at(options);
    const started = await trap.acs('conv', 'new', 'hello', '--no-repo', '--wait', '--json');
    expect(started, started.err).toMatchObject({ code: 0 });
    const { id } = JSON.parse(started.out) as { id: string };
    expect(await trap.acs('conv', 'show', id, '--json')).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'wait', id)).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'result', id)).toMatchObject({ code: 0, out: 'done' });
  });

  it('conv confirm accepts the pending action', async () => {
    await at(options);
    const started = await trap.acs('conv', 'new', 'CONFIRM', '--no-repo', '--wait', '--json');
    expect(started, started.err).toMatchObject({ code: 8 });
    const { id } = JSON.parse(started.out) as { id: string };
    expect(await trap.acs('conv', 'confirm', id, '--accept')).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'wait', id)).toMatchObject({ code: 0 });
  });
});
