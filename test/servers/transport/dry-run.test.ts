import { describe, expect, it } from 'vitest';
import { isDryRunStop } from '../../../src/servers/transport/dry-run.ts';
import { useTransports } from '../support/transport.ts';

const server = useTransports();
const { transport } = server;

describe('a dry run', () => {
  it('sends reads, stops before the first write, and reports that write redacted', async () => {
    const dry = transport({ mode: 'dry-run' });
    expect((await dry.request({ method: 'GET', path: '/', safe: 'read' })).body).toEqual({ ok: true });
    const stop: unknown = await dry
      .request({
        method: 'POST',
        path: '/api/settings',
        body: { language: 'de', llm_api_key: 'sk-very-secret-value' },
        safe: 'idempotent',
      })
      .catch((error: unknown) => error);
    if (!isDryRunStop(stop)) throw new Error('no dry run');
    expect(stop.requests).toEqual([
      { method: 'POST', url: `${server.fake.url}/api/settings`, body: { language: 'de', llm_api_key: '<redacted>' } },
    ]);
    expect(server.fake.lines()).toEqual(['GET /']);
  });
});
