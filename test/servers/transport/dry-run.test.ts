import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDryRunStop } from '../../../src/servers/transport/dry-run.ts';
import { createNetwork, type Network } from '../../../src/servers/transport/network.ts';
import { createPace } from '../../../src/servers/transport/pace.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';
import { createTransport } from '../../../src/servers/transport/transport.ts';
import type { TransportOptions } from '../../../src/servers/transport/call.ts';
import { AppError } from '../../../src/errors.ts';
import { quickClock } from '../support/connect.ts';
import { startFake, type FakeServer } from '../support/fake-server.ts';

const KEY = 'app-key-0123456789';

let fake: FakeServer;

let network: Network;

let clock: ReturnType<typeof quickClock>;

beforeEach(async () => {
  fake = await startFake(() => ({ json: { ok: true } }));
  network = createNetwork({ env: {}, connectTimeoutMs: 5_000, redaction: createRedaction([KEY]) });
  clock = quickClock();
});

afterEach(async () => {
  await network.close();
  await fake.close();
});

function transport(options: Partial<TransportOptions> = {}): ReturnType<typeof createTransport> {
  return createTransport({
    network,
    baseUrl: fake.url,
    headers: { 'x-session-api-key': KEY },
    pace: createPace(() => null, clock),
    clock,
    signal: new AbortController().signal,
    mode: 'live',
    refused: (answer, details) => Promise.resolve(new AppError('auth', `refused ${answer.status}`, details)),
    ...options,
  });
}

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
      { method: 'POST', url: `${fake.url}/api/settings`, body: { language: 'de', llm_api_key: '<redacted>' } },
    ]);
    expect(fake.lines()).toEqual(['GET /']);
  });
});
