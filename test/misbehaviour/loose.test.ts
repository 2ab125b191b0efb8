/** Commands at a server whose document cannot be read and that ignores parts of a request. */
import { describe, it } from 'vitest';
import { useLoose } from '../support/use-scripted.ts';

describe.each([
  ['V1', {}],
  ['V1 and V0', { v0: true }],
])('at a server of %s without a readable document', (_, options) => {
  const at = useLoose(options);

  it('conv new, show, wait and result work', async () => {
    const { id } = await at.start('hello', '--wait');
    await at.ends(`conv show ${id} --json`, {});
    await at.ends(`conv wait ${id}`, {});
    await at.ends(`conv result ${id}`, { out: 'done' });
  });

  it('conv confirm accepts the pending action', async () => {
    const { out } = await at.ends('conv new CONFIRM --no-repo --wait --json', { code: 8 });
    const { id } = JSON.parse(out) as { id: string };
    await at.ends(`conv confirm ${id} --accept`, {});
    await at.ends(`conv wait ${id}`, {});
  });
});
