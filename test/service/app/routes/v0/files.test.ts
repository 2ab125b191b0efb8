import { describe, expect, it } from 'vitest';
import { at, TRAJECTORY, v0AppOfSuite } from './support.ts';

const v0 = v0AppOfSuite();

describe('a conversation of V0', () => {
  it('returns files and changes of its workspace', async () => {
    const id = await v0.create({ replay_json: TRAJECTORY });
    await v0.stateReached(id, 'finished');
    expect(await v0.get(at(id, '/select-file?file=notes.txt'))).toEqual({ code: 'two\n' });
    expect((await v0.app.call('GET', at(id, '/select-file?file=none'))).status).toBe(404);
    expect(await v0.get(at(id, '/git/changes'))).toEqual([{ status: 'A', path: 'notes.txt' }]);
    expect(await v0.get(at(id, '/git/diff?path=notes.txt'))).toEqual({
      original: '',
      modified: expect.stringMatching(/^two\n?$/),
    });
  });
});
