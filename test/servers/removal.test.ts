import { describe, expect, it } from 'vitest';
import { json, useLooseStarts } from '../traps/support/loose-starts.ts';
import type { Asked, Reply } from './support/fake-server.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const starts = useLooseStarts();

describe('a deletion without an answer', () => {
  /** The first DELETE of a route that the server has is carried out and its connection cut; the next finds nothing. */
  function loseFirst(found: Reply): void {
    let isLost = false;
    const { fake } = starts.trap;
    const { handler } = fake;
    fake.handler = async (asked: Asked) => {
      if (asked.method !== 'DELETE') return handler(asked);
      if (isLost) return found;
      const reply = await handler(asked);
      if ('status' in reply && (reply.status === 404 || reply.status === 405)) return reply;
      isLost = true;
      return { cut: true };
    };
  }

  it.each([
    ['V1', {}, '/api/v1/app-conversations/', { status: 404, json: { detail: 'unknown_app_conversation' } }],
    ['V0', ONLY_V0_ROUTE, '/api/conversations/', { json: false }],
  ])('of a conversation over %s is reported as successful', async (_, options, route, found) => {
    const { ids } = await starts.sharing(1, options);
    loseFirst(found);
    const ended = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ changed: true });
    expect(starts.deletions(route)).toHaveLength(2);
  });

  /** Each DELETE is cut; the first one that reaches its route is carried out before that, or none is. */
  function cutAll(effect: 'carried-out' | 'not-carried-out'): void {
    const { fake } = starts.trap;
    const { handler } = fake;
    fake.handler = async (asked: Asked) => {
      if (asked.method !== 'DELETE') return handler(asked);
      if (effect === 'carried-out') await handler(asked);
      return { cut: true };
    };
  }

  it.each([
    ['conv', 'carried-out', 0],
    ['conv', 'not-carried-out', 10],
    ['sandbox', 'carried-out', 0],
    ['sandbox', 'not-carried-out', 10],
  ] as const)(
    'whose repetitions are not answered either is checked by a read: %s delete, %s',
    async (noun, effect, code) => {
      const { ids, sandbox } = await starts.sharing(1, {});
      cutAll(effect);
      const ended = await starts.trap.acs(noun, 'delete', noun === 'conv' ? (ids[0] ?? '') : sandbox, '-y', '--json');
      expect(ended.code, ended.err).toBe(code);
      if (code === 0) expect(json(ended)).toMatchObject({ changed: true });
      else expect(ended.err).toContain('is still there');
    },
  );

  it('of a sandbox is reported as successful', async () => {
    const { sandbox } = await starts.sharing(1, {});
    loseFirst({ status: 404, json: { detail: 'Sandbox not found' } });
    const ended = await starts.trap.acs('sandbox', 'delete', sandbox, '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ id: sandbox, changed: true });
  });
});
