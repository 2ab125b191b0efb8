import { describe, expect, it } from 'vitest';
import { useFirstRun } from '../conv/conv-world.ts';
import { record, useOddServer } from '../sandbox/odd-server.ts';
import { errorOf, json } from '../conv/support.ts';

interface Bulk {
  items: { id: string; ok: boolean; error: { code: string } | null }[];
  matched: number;
  failed: number;
}

describe('wait for several ids', () => {
  const server = useOddServer();

  it('exits 124 when one id passes the deadline and another is ambiguous', async () => {
    server.sandboxes = [record('sandbox-late', 'STARTING'), record('twin-one'), record('twin-two')];
    // The result of the probe is stored: the deadline passes in the wait for the sandbox.
    await server.acs('list');
    const ended = await server.acs('wait', 'twin', 'sandbox-late', '--wait-timeout', '200ms', '--json');
    expect(ended.code).toBe(124);
    const { items, matched, failed } = json<Bulk>(ended);
    expect({ matched, failed }).toEqual({ matched: 2, failed: 2 });
    expect(items.map(({ error }) => error?.code)).toEqual(['usage', 'timeout']);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'starting' });
    expect(ended.err).toContain('twin: 2 sandboxes begin with twin');
  });

  it('reads the list of records once for several prefixes', async () => {
    server.sandboxes = [record('aaaa-one'), record('bbbb-two')];
    expect((await server.acs('wait', 'aaaa', 'bbbb', '-q')).out).toBe('aaaa-one\nbbbb-two\n');
    expect(server.fake.lines().filter((line) => line === 'GET /api/v1/sandboxes/search')).toHaveLength(1);
  });

  it('refuses a malformed id before any request', async () => {
    server.sandboxes = [record('sandbox-here')];
    expect((await server.acs('wait', 'sandbox-here', 'not an id')).code).toBe(2);
    expect(server.fake.lines()).toEqual([]);
  });

  it('shows the wanted status of each sandbox', async () => {
    server.sandboxes = [record('sandbox-one'), record('sandbox-two')];
    const { err } = await server.acs('wait', 'sandbox-one', 'sandbox-two');
    for (const id of ['sandbox-one', 'sandbox-two']) expect(err).toContain(`sandbox ${id}: `);
  });
});

describe('wait', () => {
  const at = useFirstRun();

  it('refuses an empty id, as of an empty variable', async () => {
    expect((await at.conv('wait', '')).code).toBe(2);
  });
});
