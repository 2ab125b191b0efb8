import { describe, expect, it } from 'vitest';
import { useFirstRun } from './conv-world.ts';
import { finish, json, replayFile, startHeldRun } from './support.ts';

const at = useFirstRun();
const { conv } = at;

describe('conv result', () => {
  it('prints the answer byte for byte', async () => {
    const file = await replayFile(at.world, 'answer.json', [finish('  zwei\n\tZeilen ü\u202e ')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    expect((await conv('result', id)).out).toBe('  zwei\n\tZeilen ü\u202e ');
  });

  it('prints no control characters on a terminal', async () => {
    const file = await replayFile(at.world, 'bad-answer.json', [finish('\u001b[2Jgone')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    const { out } = await at.world.invoke({ args: ['conv', 'result', id], columns: 80 });
    expect(out).toBe('\\x1b[2Jgone\n');
  });

  it('exits 5 while there is no answer', async () => {
    const held = await startHeldRun(at.world);
    const ended = await conv('result', held.id);
    expect(ended).toMatchObject({ code: 5, out: '' });
    expect(ended.err).toContain(`wait for it: acs conv wait ${held.id}`);
    await held.release();
    await conv('wait', held.id);
  });

  it('hints at no wait when no answer can come', async () => {
    const { id } = json(await conv('new', '--no-repo', '--replay', 'demo', '--wait', '--json'));
    await conv('send', id, 'go on', '--wait');
    const failed = await conv('result', id);
    expect(failed).toMatchObject({ code: 5, out: '' });
    expect(failed.err).toContain('is failed and gave no answer to the latest message');
    expect(failed.err).not.toContain('conv wait');
  });

  it('exits 2 for a table format', async () => {
    expect((await conv('result', at.first, '--json')).code).toBe(2);
  });
});
