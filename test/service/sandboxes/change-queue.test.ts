/** Changes of one sandbox that are requested at once. */
import { describe, expect, it } from 'vitest';
import { appOfEachTest, sandboxCalls, until } from '../app/support.ts';

const app = appOfEachTest();
const { newSandbox, post, remove, settled, statusOf } = sandboxCalls(() => app);

describe('changes of one sandbox', () => {
  it('a resume sent right after a pause is applied after it, 10 of 10 times', async () => {
    const id = await newSandbox();
    for (let round = 1; round <= 10; round++) {
      const answers = await Promise.all([post(id, 'pause'), post(id, 'resume')]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect({ round, status: await settled(id) }).toEqual({ round, status: 'RUNNING' });
    }
  });

  it('the last of many decides the status', async () => {
    const id = await newSandbox();
    await Promise.all([post(id, 'pause'), post(id, 'resume'), post(id, 'pause')]);
    expect(await settled(id)).toBe('PAUSED');
    await Promise.all([post(id, 'resume'), post(id, 'pause'), post(id, 'resume')]);
    expect(await settled(id)).toBe('RUNNING');
    const [removed, resumed] = await Promise.all([remove(id), post(id, 'resume')]);
    expect([removed.status, resumed.status]).toEqual([200, 404]);
    expect(statusOf(id)).toBeNull();
  });

  it('a start of a V0 conversation sent right after its stop is applied after it', async () => {
    const { body } = await app.call('POST', '/api/conversations', { replay_json: 'demo' });
    const root = `/api/conversations/${(body as { conversation_id: string }).conversation_id}`;
    const status = async () => ((await app.call('GET', root)).body as { status: string }).status;
    await until(status, (word) => word === 'RUNNING');
    await Promise.all([app.call('POST', `${root}/stop`), app.call('POST', `${root}/start`, {})]);
    await until(status, (word) => word === 'RUNNING');
  });
});
