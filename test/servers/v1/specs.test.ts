import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';

const v1 = connectedV1();

describe('specs of V1', () => {
  it('name the first spec as the default', async () => {
    v1.on({
      'GET /api/v1/sandbox-specs/search': () => ({
        json: { items: [{ id: 'one', working_dir: '/w' }, { id: 'two' }], next_page_id: null },
      }),
    });
    expect((await v1.server.specs.list(null)).items.map((spec) => [spec.id, spec.default])).toEqual([
      ['one', true],
      ['two', false],
    ]);
    expect((await v1.server.specs.get('two')).default).toBe(false);
  });

  it('are unsupported where the server lacks their route', async () => {
    v1.on({ 'GET /api/v1/sandbox-specs/search': () => ({ status: 404, json: { detail: 'Not Found' } }) });
    await expect(v1.server.specs.list(null)).rejects.toMatchObject({ kind: 'unsupported' });
    await expect(v1.server.specs.get('one')).rejects.toMatchObject({ kind: 'unsupported' });
  });
});
