import { describe, expect, it } from 'vitest';
import { useFirstRun } from './conv-world.ts';
import { endedRun, finish, json, replayFile, run } from './support.ts';

const at = useFirstRun();
const { conv, show } = at;

describe('conv diff', () => {
  it('prints the changes, or a notice when nothing changed', async () => {
    expect((await conv('diff', at.first)).out).toContain('+++ b/acs-demo.sh');
    const file = await replayFile(at.world, 'idle.json', [run('true'), finish('nothing')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    const ended = await conv('diff', id);
    expect(ended).toMatchObject({ code: 0, out: '' });
    expect(ended.err).toContain('nothing changed');
  });

  it('--stat lists the files', async () => {
    expect((await conv('diff', at.first, '--stat')).out).toBe('acs-demo.sh\tadded\t4\t0\n');
    expect(json(await conv('diff', at.first, '--stat', '--json'))).toEqual({
      items: [{ path: 'acs-demo.sh', status: 'added', added: 4, removed: 0 }],
      has_more: false,
    });
  });

  it('names a repository that the agent made in the workspace, and prints the other changes', async () => {
    const made = 'git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m first';
    const steps = [run(`${made} && echo one > lib/one.txt && echo two > two.txt`), finish('done')];
    const file = await replayFile(at.world, 'nested.json', steps);
    const { id } = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json'));
    const { code, out, err } = await conv('diff', id);
    expect({ code, err }).toEqual({
      code: 0,
      err: 'warning: left out: lib: it is a repository of its own, and its files are not compared\n',
    });
    expect(out).toContain('+two');
    expect(out).not.toContain('lib');
    expect((await conv('diff', id, '--stat')).out).toBe('two.txt\tadded\t1\t0\n');
  });

  it('exits 6 for a paused sandbox without --resume', async () => {
    const id = await endedRun(at.world);
    await at.world.acs('sandbox', 'pause', (await show(id)).sandbox_id ?? '');
    const refused = await conv('diff', id);
    expect(refused.code).toBe(6);
    expect(refused.err).toContain('--resume');
    expect((await conv('diff', id, '--resume')).out).toContain('acs-demo.sh');
  });
});
