/**
 * Another value for a secret at a server that cannot replace one: up to 1.8.0 it is deleted and
 * created.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../../support/server.ts';
import { useLoose } from '../../support/use-scripted.ts';

const at = useLoose();
const V0 = { name: 'V0', options: { v0: true }, route: '/api/secrets' };
const V1 = { name: 'V1, as 1.7 and 1.8', options: {}, route: '/api/v1/secrets' };
let stored: Map<string, string>;
/** Answers a write first; null: it is carried out. */
let onWrite: (method: string) => Reply | null;

beforeEach(() => {
  stored = new Map([['TOKEN', 'old']]);
  onWrite = () => null;
});

function serve({ options, route }: typeof V0 | typeof V1): void {
  at.serve(options);
  at.loose.before = ({ method, path, body }) => {
    if (path !== route && !path.startsWith(`${route}/`)) return null;
    const items = [...stored.keys()].map((name) => ({ name }));
    if (method === 'GET') return { json: { custom_secrets: items, items, next_page_id: null } };
    const { name, value } = (body ?? {}) as { name: string; value: string };
    if (method === 'POST' && stored.has(name))
      return { status: 400, json: { detail: `Secret ${name} already exists` } };
    const special = onWrite(method);
    if (special !== null) return special;
    if (method === 'DELETE') stored.delete(path.slice(route.length + 1));
    else stored.set(name, value);
    return { json: { message: 'done' } };
  };
}

const SET = 'secret set TOKEN --from-env NEW_VALUE';
const env = { NEW_VALUE: 'new-value-1' };

describe.each([V0, V1])('secret set of an existing name over $name', (kind) => {
  beforeEach(() => serve(kind));

  it('names the risk and replaces the value', async () => {
    await at.ends(SET, { env, err: /the old value is lost[^]*its value was replaced/ });
    expect(stored).toEqual(new Map([['TOKEN', 'new-value-1']]));
  });

  it.each<[number, string, 'POST' | 'DELETE', Reply]>([
    [2, 'the new one is refused', 'POST', { status: 422, json: { detail: 'too long' } }],
    [11, 'the answer to the new one is lost', 'POST', { cut: true }],
    [10, 'the deletion is not answered', 'DELETE', { cut: true }],
    [
      9,
      'the deletion is answered 500',
      'DELETE',
      { status: 500, json: { detail: 'Internal Server Error' } },
    ],
  ])(
    'exits %i and reports that the old value may be gone when %s',
    async (code, _, failing, reply) => {
      onWrite = (method) => (method === failing ? reply : null);
      const err = ['the old value of TOKEN may be gone', 'store it again: acs secret set TOKEN'];
      await at.ends(`${SET} --json`, { env, code, err });
    },
  );

  it('names no risk for a new name', async () => {
    stored.clear();
    await at.ends(SET, { env, err: '' });
  });
});

it.each(['the value of TOKEN is too long', 'Secret TOKEN_2 already exists with this value'])(
  'secret set keeps the old value when V1 refuses the new one for another reason than its name: %s',
  async (detail) => {
    serve(V1);
    at.script({ 'POST /api/v1/secrets': { status: 400, json: { detail } } });
    await at.ends(SET, { env, code: 2, err: detail, writes: ['POST /api/v1/secrets'] });
    expect(stored).toEqual(new Map([['TOKEN', 'old']]));
  },
);

it('secret delete succeeds when its answer is lost and the repetition finds nothing', async () => {
  serve(V0);
  onWrite = () => {
    if (!stored.delete('TOKEN'))
      return { status: 404, json: { error: 'Secret with ID TOKEN not found' } };
    return { cut: true };
  };
  await at.ends('secret delete TOKEN -y --json', { out: { changed: true } });
});
