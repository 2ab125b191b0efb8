/** Another value for a secret at a server that cannot replace one: up to 1.6.0 it is deleted and created. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../support/fake-server.ts';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';

let trap: LooseTrap;
let stored: Map<string, string>;
/** The answer to the request that creates the secret; null: it is created. */
let onCreate: () => Reply | null;

beforeEach(async () => {
  trap = await looseTrap({ v0: true });
  stored = new Map([['TOKEN', 'old']]);
  onCreate = () => null;
  trap.before = ({ method, path, body }) => {
    if (path !== '/api/secrets' && !path.startsWith('/api/secrets/')) return null;
    if (method === 'DELETE') {
      stored.delete(path.slice('/api/secrets/'.length));
      return { json: { message: 'deleted' } };
    }
    if (method !== 'POST') return { json: { custom_secrets: [...stored.keys()].map((name) => ({ name })) } };
    const { name, value } = body as { name: string; value: string };
    const special = onCreate();
    if (special !== null) return special;
    stored.set(name, value);
    return { status: 201, json: { message: 'created' } };
  };
});
afterEach(() => trap.close());

const set = (...flags: string[]) =>
  trap.invoke({
    args: ['secret', 'set', 'TOKEN', '--from-env', 'NEW_VALUE', ...flags],
    env: { NEW_VALUE: 'new-value' },
  });

/** `reads`: of the list, once a deletion was sent. */
function cutDeletions({ effect, reads }: { effect: 'deleted' | 'none'; reads?: 'cut' }): void {
  const { before } = trap;
  let isSent = false;
  trap.before = (asked) => {
    if (asked.method === 'GET' && isSent && reads === 'cut') return { cut: true };
    if (asked.method !== 'DELETE') return before(asked);
    isSent = true;
    if (effect === 'deleted') stored.clear();
    return { cut: true };
  };
}

describe('secret set of an existing name', () => {
  it('names the risk and replaces the value', async () => {
    const { code, err } = await set();
    expect(code, err).toBe(0);
    expect(err).toContain('the old value is lost');
    expect(err.indexOf('the old value is lost')).toBeLessThan(err.indexOf('its value was replaced'));
    expect(stored).toEqual(new Map([['TOKEN', 'new-value']]));
  });

  it('reports that the old value is gone when the new one is refused', async () => {
    onCreate = () => ({ status: 422, json: { detail: 'too long' } });
    const { code, err } = await set('--json');
    expect(code).toBe(2);
    expect(err).toContain('the old value of TOKEN is gone');
    expect(err).toContain('"old_value":"deleted"');
  });

  it('reports that the old value is gone when the answer is lost and the secret is not there', async () => {
    onCreate = () => ({ cut: true });
    const { code, err } = await set();
    expect(code).toBe(11);
    expect(err).toContain('the old value of TOKEN is gone');
  });

  it('succeeds when the answer is lost and the secret exists', async () => {
    onCreate = () => {
      stored.set('TOKEN', 'new-value');
      return { cut: true };
    };
    expect(await set()).toMatchObject({ code: 0 });
  });

  it('replaces the value when the answer to the deletion is lost and the list no longer has the secret', async () => {
    cutDeletions({ effect: 'deleted' });
    const { code, err } = await set();
    expect(code, err).toBe(0);
    expect(stored).toEqual(new Map([['TOKEN', 'new-value']]));
  });

  it('reports that the old value may be gone when the deletion is not answered and the list cannot be read', async () => {
    cutDeletions({ effect: 'deleted', reads: 'cut' });
    const { code, err } = await set('--json');
    expect(code).toBe(10);
    expect(err).toContain('the old value of TOKEN may be gone');
    expect(err).toContain('"old_value":"unknown"');
    expect(err).toContain('acs secret list');
  });

  it('reports that the old value may be gone when the deletion is answered 500', async () => {
    const { before } = trap;
    trap.before = (asked) =>
      asked.method === 'DELETE' ? { status: 500, json: { detail: 'Internal Server Error' } } : before(asked);
    const { code, err } = await set('--json');
    expect(code).toBe(9);
    expect(err).toContain('"old_value":"unknown"');
  });

  it('reports that the secret is still there when the deletion is not answered and had no effect', async () => {
    cutDeletions({ effect: 'none' });
    const { code, err } = await set('--json');
    expect(code).toBe(10);
    expect(err).toContain('secret TOKEN is still there');
    expect(err).not.toContain('old_value');
    expect(stored).toEqual(new Map([['TOKEN', 'old']]));
  });

  describe('at a server that accepts the deletion and keeps the secret', () => {
    beforeEach(() => {
      const { before } = trap;
      trap.before = (asked) => (asked.method === 'DELETE' ? { json: { message: 'deleted' } } : before(asked));
    });

    it('reports that the old value is unchanged when the new one is refused', async () => {
      onCreate = () => ({ status: 400, json: { message: 'Secret TOKEN already exists' } });
      const { code, err } = await set('--json');
      expect(code, err).toBe(6);
      expect(err).toContain('the old value of TOKEN is unchanged');
      expect(err).toContain('"old_value":"kept"');
      expect(err).not.toContain('gone');
      expect(stored).toEqual(new Map([['TOKEN', 'old']]));
    });

    it('does not take the old value for the new one when the answer to the new one is lost', async () => {
      onCreate = () => ({ cut: true });
      const { code, err } = await set('--json');
      expect(code, err).toBe(11);
      expect(err).toContain('"old_value":"unknown"');
      expect(err).not.toContain('is gone');
    });

    it('exits 0 when the server then replaces the value', async () => {
      const { code, err } = await set();
      expect(code, err).toBe(0);
      expect(stored).toEqual(new Map([['TOKEN', 'new-value']]));
    });
  });

  it('reports that the old value may be gone when the list cannot be read and the new one is refused', async () => {
    const { before } = trap;
    let isSent = false;
    onCreate = () => ({ status: 422, json: { detail: 'too long' } });
    trap.before = (asked) => {
      if (asked.method === 'GET' && isSent) return { cut: true };
      isSent ||= asked.method === 'DELETE';
      return before(asked);
    };
    const { code, err } = await set('--json');
    expect(code, err).toBe(2);
    expect(err).toContain('the old value of TOKEN may be gone');
    expect(err).toContain('"old_value":"unknown"');
  });

  it('names no risk for a new name', async () => {
    stored.clear();
    const { code, err } = await set();
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});

describe('secret delete', () => {
  it('exits 9 when the server accepts it and keeps the secret', async () => {
    const { before } = trap;
    trap.before = (asked) => (asked.method === 'DELETE' ? { json: { message: 'deleted' } } : before(asked));
    const { code, err } = await trap.acs('secret', 'delete', 'TOKEN', '-y');
    expect(code).toBe(9);
    expect(err).toContain('secret TOKEN was not deleted');
  });

  it('succeeds when it is not answered and the list no longer has the secret', async () => {
    cutDeletions({ effect: 'deleted' });
    const ended = await trap.acs('secret', 'delete', 'TOKEN', '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(JSON.parse(ended.out)).toMatchObject({ changed: true });
  });

  it('succeeds when its answer is lost and the repetition finds nothing', async () => {
    const { before } = trap;
    let isLost = false;
    trap.before = (asked) => {
      if (asked.method !== 'DELETE') return before(asked);
      if (isLost) return { status: 404, json: { error: 'Secret with ID TOKEN not found' } };
      isLost = true;
      stored.clear();
      return { cut: true };
    };
    const ended = await trap.acs('secret', 'delete', 'TOKEN', '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(JSON.parse(ended.out)).toMatchObject({ changed: true });
  });
});
