import { describe, expect, it } from 'vitest';
import { KEY } from '../../support.ts';
import { at, TRAJECTORY, v0AppOfSuite } from './support.ts';

const v0 = v0AppOfSuite();

describe('a conversation of V0', () => {
  it('returns, changes and accepts files of its workspace', async () => {
    const id = await v0.create({ replay_json: TRAJECTORY });
    await v0.stateReached(id, 'finished');
    expect(await v0.get(at(id, '/list-files'))).toEqual(['notes.txt']);
    expect(await v0.get(at(id, '/select-file?file=notes.txt'))).toEqual({ code: 'two\n' });
    expect((await v0.app.call('GET', at(id, '/select-file?file=none'))).status).toBe(404);
    expect(await v0.get(at(id, '/git/changes'))).toEqual([{ status: 'A', path: 'notes.txt' }]);
    expect(await v0.get(at(id, '/git/diff?path=notes.txt'))).toEqual({
      original: '',
      modified: expect.stringMatching(/^two\n?$/),
    });
    const form = new Request('http://x/', { method: 'POST', body: formWith('up.txt', 'sent') });
    const answer = await v0.app.call('POST', at(id, '/upload-files'), await form.clone().text(), {
      'X-Session-API-Key': KEY,
      'Content-Type': form.headers.get('content-type') ?? '',
    });
    expect(answer.body).toMatchObject({ uploaded_files: [expect.stringMatching(/\/up\.txt$/)], skipped_files: [] });
    expect(await v0.get(at(id, '/select-file?file=up.txt'))).toEqual({ code: 'sent' });
    const zip = await v0.app.call('GET', at(id, '/zip-directory'));
    expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
  });
});

function formWith(name: string, content: string): FormData {
  const form = new FormData();
  form.append('files', new Blob([content]), name);
  return form;
}
