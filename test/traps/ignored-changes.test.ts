/** Changes that a server accepts and does not carry out: no command reports them as done. */
import { describe, expect, it } from 'vitest';
import { json, useLooseStarts } from './support/loose-starts.ts';

const { at } = useLooseStarts();

describe('conv stop', () => {
  it('exits 124 when the run continues', async () => {
    const { id, server } = await at('WORK', { ignores: ['stop'] });
    expect(await server.acs('conv', 'stop', id)).toMatchObject({ code: 124, out: '' });
  });

  it('of a run that ends by itself at the same moment reports no change', async () => {
    const { id, server } = await at('WORK', { ignores: ['stop'] });
    server.before = ({ path }) => {
      const conversation = server.conversations.get(id);
      if (path.endsWith('/interrupt') && conversation) conversation.state = 'finished';
      return null;
    };
    const ended = await server.acs('conv', 'stop', id, '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'finished', changed: false });
  });

  it('exits 12 when the agent server has no route to stop a run', async () => {
    const own = 'POST /agent/api/conversations/:id';
    const { id, server } = await at('WORK', { lacks: [`${own}/interrupt`, `${own}/pause`] });
    const { code, err } = await server.acs('conv', 'stop', id);
    expect({ code, err }).toMatchObject({ code: 12, err: expect.stringContaining('cannot stop a run') as string });
  });

  it('of a run that has ended sends nothing and reports no change', async () => {
    const { id, server } = await at('hello', {});
    server.fake.asked.length = 0;
    expect(json(await server.acs('conv', 'stop', id, '--json'))).toMatchObject({ status: 'finished', changed: false });
    expect(server.fake.lines().filter((line) => line.startsWith('POST'))).toEqual([]);
  });
});

describe('sandbox pause', () => {
  it('exits 124 when the sandbox keeps running', async () => {
    const { sandbox, server } = await at('hello', { ignores: ['pause'] });
    const { code, err } = await server.acs('sandbox', 'pause', sandbox, '--wait-timeout', '20s');
    expect({ code, err }).toMatchObject({ code: 124, err: expect.stringContaining('running') as string });
  });

  it('with --no-wait reports no change while the sandbox is as it was', async () => {
    const { sandbox, server } = await at('hello', { ignores: ['pause'] });
    const ended = await server.acs('sandbox', 'pause', sandbox, '--no-wait', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'running', changed: false });
  });
});

it.each([
  ['resume', ['--wait']],
  ['send', ['again', '--resume', '--wait']],
])('conv %s names the status that was read when the sandbox is not resumed before the deadline', async (verb, rest) => {
  const { id, sandbox, server } = await at('WORK', { ignores: ['resume'] });
  server.sandboxes.set(sandbox, 'PAUSED');
  const { code, err } = await server.acs('conv', verb, id, ...rest, '--wait-timeout', '20s', '--json');
  expect(code, err).toBe(124);
  const { error } = JSON.parse(err.trim().split('\n').at(-1) ?? '') as {
    error: { message: string; last_status: string };
  };
  expect(error).toMatchObject({ last_status: 'paused' });
  expect(error.message).not.toContain('did not answer');
});
