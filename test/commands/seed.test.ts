/**
 * The check-off of the interface: every endpoint and every field that acs was made for, requested by a command, and
 * looked for in what went over the wire. A row that was never seen fails: the tables below are the proof.
 *
 * Members of a V1 start that have no flag of their own come from the file of `--members`. Two are never sent: `title`,
 * which servers ignore at a start, so acs renames right after it, and `run: false` of the first message, which runs
 * whatever its value is. `replay_json`, `sandbox_spec_id` and `confirmation_policy` are the local service's own.
 */
import { describe, expect, it } from 'vitest';
import { useWorldAndProxy } from '../support/proxied-world.ts';
import { type RecordedRequest, recordingProxy } from '../support/recording-proxy.ts';
import { createWorld } from '../support/world.ts';

const at = useWorldAndProxy({ spec: 'process' });

/** Runs a command through the proxy; what it sent. */
async function sentBy(...args: string[]): Promise<RecordedRequest[]> {
  const from = at.proxy.requests.length;
  const env = { ACS_BASE_URL: at.proxy.url, TOKEN: 'token-value' };
  const { code, err } = await at.world.invoke({ args, env });
  expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
  return at.proxy.requests.slice(from);
}

describe('every endpoint', () => {
  /** Method and path as in the interface; a query is named where the call means nothing without it. */
  const TABLE: readonly [string, RegExp][] = [
    ['GET', /^\/api\/settings$/],
    ['POST', /^\/api\/settings$/],
    ['POST', /^\/api\/conversations$/],
    ['POST', /^\/api\/v1\/app-conversations$/],
    ['GET', /^\/api\/v1\/app-conversations\?ids=[0-9a-f-]+$/],
    ['GET', /^\/api\/v1\/app-conversations\/search\?/],
    ['GET', /^\/api\/v1\/app-conversations\/start-tasks\?ids=[0-9a-f-]+$/],
    ['GET', /^\/api\/v1\/sandboxes\/search\?/],
    ['POST', /^\/api\/v1\/sandboxes\?sandbox_spec_id=process$/],
    ['POST', /^\/api\/v1\/sandboxes\/\w+\/pause$/],
    ['POST', /^\/api\/v1\/sandboxes\/\w+\/resume$/],
    ['DELETE', /^\/api\/v1\/sandboxes\/(\w+)\?sandbox_id=\1$/],
    ['GET', /^\/api\/v1\/sandbox-specs\/search(\?|$)/],
  ];

  it('is requested by its command, with the key in both headers', async () => {
    const v0 = await createWorld({ api: 'v0', spec: 'process' });
    const wire = await recordingProxy(v0.service.url);
    try {
      for (const args of [
        ['settings', 'get'],
        ['settings', 'set', 'language=de'],
      ])
        expect((await v0.invoke({ args, env: { ACS_BASE_URL: wire.url } })).code).toBe(0);
      const started = await sentBy('conv', 'new', '--no-repo', '--replay', 'demo', '--wait');
      await sentBy('conv', 'new', '--no-repo', '--replay', 'demo', '--api', 'v0');
      await sentBy('conv', 'list');
      await sentBy('conv', 'show', '@last');
      await sentBy('sandbox', 'start', '--spec', 'process');
      await sentBy('sandbox', 'list');
      const { items } = JSON.parse((await at.world.acs('sandbox', 'list', '--json')).out) as {
        items: { id: string }[];
      };
      const id = items[0]?.id ?? '';
      for (const verb of ['pause', 'resume']) await sentBy('sandbox', verb, id);
      await sentBy('sandbox', 'delete', id, '-y');
      await sentBy('specs', 'list');
      const asked = [...wire.requests, ...at.proxy.requests];
      const missing = TABLE.filter(
        ([method, route]) => !asked.some((one) => one.method === method && route.test(one.path)),
      );
      expect(missing).toEqual([]);
      expect(started.length).toBeGreaterThan(0);
      for (const { headers } of at.proxy.requests) {
        expect(headers['x-session-api-key']).toBe(at.world.service.key);
        expect(headers.authorization).toBe(`Bearer ${at.world.service.key}`);
      }
    } finally {
      await wire.close();
      await v0.close();
    }
  });
});
