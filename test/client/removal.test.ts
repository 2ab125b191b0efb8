import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/server.ts';
import { useLoose } from '../support/use-loose.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const at = useLoose();

describe('a deletion without an answer', () => {
  /** The first DELETE of a route that the server has is carried out and its connection cut; the next finds nothing. */
  function loseFirst(found: Reply): void {
    let isLost = false;
    const { handler } = at.server;
    at.server.handler = async (asked) => {
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
    at.serve(options);
    const { id } = await at.start('hello', '--wait');
    loseFirst(found);
    await at.ends(`conv delete ${id} -y --json`, { out: { changed: true } });
    expect(at.deletions(route)).toHaveLength(2);
  });

  it('of a sandbox is reported as successful', async () => {
    const { sandbox } = await at.start('hello', '--wait');
    loseFirst({ status: 404, json: { detail: 'Sandbox not found' } });
    await at.ends(`sandbox delete ${sandbox} -y --json`, { out: { id: sandbox, changed: true } });
  });

  it.each([
    ['conv', 'carried out', { out: { changed: true } }],
    ['conv', 'not carried out', { code: 10, err: 'is still there' }],
    ['sandbox', 'carried out', { out: { changed: true } }],
    ['sandbox', 'not carried out', { code: 10, err: 'is still there' }],
  ] as const)(
    'whose repetitions are not answered either is checked by a read: %s delete, %s',
    async (noun, effect, ending) => {
      const { id, sandbox } = await at.start('hello', '--wait');
      const { handler } = at.server;
      at.server.handler = async (asked) => {
        if (asked.method !== 'DELETE') return handler(asked);
        if (effect === 'carried out') await handler(asked);
        return { cut: true };
      };
      await at.ends(`${noun} delete ${noun === 'conv' ? id : sandbox} -y --json`, ending);
    },
  );
});
