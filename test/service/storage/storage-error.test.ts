import { describe, expect, it } from 'vitest';
import { storageError } from '../../../src/service/storage/storage-error.ts';
import { createTestApp } from '../app/support.ts';

describe('a storage error', () => {
  it.each([
    ['SQLITE_FULL', 'database or disk is full', 507],
    ['ENOSPC', 'no space left on device', 507],
    ['SQLITE_READONLY', 'attempt to write a readonly database', 500],
    ['EACCES', 'permission denied', 500],
    ['SQLITE_IOERR_WRITE', 'disk I/O error', 500],
  ])('by %s is reported in words', (code, message, status) => {
    const trouble = storageError(Object.assign(new Error(message), { code }));
    expect(trouble).toMatchObject({ status, text: expect.stringContaining('nothing was stored') });
  });

  it('because it is damaged is reported as damaged', () => {
    const trouble = storageError(new Error('database disk image is malformed'));
    expect(trouble).toMatchObject({ status: 500, text: expect.stringContaining('is damaged') });
  });

  it('is not reported for other failures', () => {
    expect(storageError(new TypeError('x is not a function'))).toBeNull();
  });

  it('is answered with its text, and nothing is stored', async () => {
    const app = await createTestApp();
    try {
      await app.call('POST', '/api/settings', { language: 'de' });
      const { documents } = app.store;
      const write = documents.write.bind(documents);
      documents.write = () => {
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      };
      const answer = await app.call('POST', '/api/settings', { language: 'fr' });
      expect(answer).toMatchObject({
        status: 507,
        body: { detail: expect.stringContaining('disk') },
      });
      documents.write = write;
      expect((await app.call('GET', '/api/settings')).body).toMatchObject({ language: 'de' });
    } finally {
      await app.close();
    }
  });
});
