/** Changes that a server accepts and does not carry out: no command reports them as done. */
import { describe, expect, it } from 'vitest';
import { useLoose } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const at = useLoose();

describe('conv stop', () => {
  it('exits 124 when the run continues', async () => {
    at.serve({ ignores: ['stop'] });
    const { id } = await at.start('WORK');
    await at.ends(`conv stop ${id}`, { code: 124, out: '' });
  });

  it('of a run that ends by itself at the same moment reports no change', async () => {
    at.serve({ ignores: ['stop'] });
    const { id } = await at.start('WORK');
    at.loose.before = ({ path }) => {
      if (path.endsWith('/interrupt')) at.loose.conversations.get(id)!.state = 'finished';
      return null;
    };
    await at.ends(`conv stop ${id} --json`, { out: { status: 'finished', changed: false } });
  });

  it('exits 12 when the agent server has no route to stop a run', async () => {
    const own = 'POST /agent/api/conversations/:id';
    at.serve({ lacks: [`${own}/interrupt`, `${own}/pause`] });
    const { id } = await at.start('WORK');
    await at.ends(`conv stop ${id}`, { code: 12, err: 'cannot stop a run' });
  });

  it('of a run that has ended sends nothing and reports no change', async () => {
    const { id } = await at.start('hello');
    at.server.asked.length = 0;
    await at.ends(`conv stop ${id} --json`, {
      out: { status: 'finished', changed: false },
      writes: [],
    });
  });
});

describe('sandbox pause', () => {
  it('exits 124 when the sandbox keeps running', async () => {
    at.serve({ ignores: ['pause'] });
    const { sandbox } = await at.start('hello');
    await at.ends(`sandbox pause ${sandbox} --wait-timeout 20s`, { code: 124, err: 'running' });
  });

  it('with --no-wait reports no change while the sandbox is as it was', async () => {
    at.serve({ ignores: ['pause'] });
    const { sandbox } = await at.start('hello');
    await at.ends(`sandbox pause ${sandbox} --no-wait --json`, {
      out: { status: 'running', changed: false },
    });
  });
});

it.each([
  ['resume', '--wait'],
  ['send', 'again --resume --wait'],
])(
  'conv %s names the status that was read when the sandbox is not resumed before the deadline',
  async (verb, rest) => {
    at.serve({ ignores: ['resume'] });
    const { id, sandbox } = await at.start('WORK');
    at.loose.sandboxes.set(sandbox, 'PAUSED');
    const error = errorOf(
      await at.ends(`conv ${verb} ${id} ${rest} --wait-timeout 20s --json`, { code: 124 }),
    );
    expect(error).toMatchObject({ last_status: 'paused' });
    expect(error.message).not.toContain('did not answer');
  },
);
