import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { chat, KEYS, twoRuns } from './chat-world.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, finish, json, replayFile, run, startHeldRun, until, type ConversationJson } from './support.ts';
import { startWaitingRun, untilStatus } from './waiting-run.ts';

describe.each(['v1', 'v0'] as const)('conv chat over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;

  /** The messages of the user, oldest first. */
  const messages = async (id: string): Promise<string[]> => {
    const { items } = json<{ items: { text: string; kind: string }[] }>(
      await conv('events', id, '--source', 'user', '--json'),
    );
    return items.filter(({ kind }) => /^MessageEvent$|message/.test(kind)).map(({ text }) => text);
  };

  it('follows the run, sends a message, shows its run, and leaves with 0 on /quit', async () => {
    const id = await endedRun(at.world, '--replay', await twoRuns(at.world));
    const terminal = chat(at.world, id);
    await terminal.sees('The first is done.');
    await terminal.prompt();
    terminal.type(`the second\\${KEYS.enter}please${KEYS.enter}`);
    await terminal.sees('the second\n       please');
    await terminal.sees('The second is done.');
    await terminal.prompt();
    terminal.type(`/quit${KEYS.enter}`);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(`conversation ${id} remains; continue it: acs conv chat`);
    expect(terminal.shown().match(/The first is done/g)).toHaveLength(1);
    expect(await messages(id)).toHaveLength(2);
  });

  it('starts a conversation without an id, as conv new does', async () => {
    const terminal = chat(at.world, '--no-repo', '-m', 'begin', '--replay', await twoRuns(at.world));
    await terminal.sees('begin');
    await terminal.sees('The first is done.');
    await terminal.prompt();
    terminal.type(KEYS.up);
    await terminal.sees('> begin');
    terminal.type(`${KEYS.ctrlC}${KEYS.ctrlD}`);
    expect(await terminal.ended).toBe(0);
  });

  it('prints the changes on /diff, and names an unknown command without sending it', async () => {
    const id = await endedRun(at.world, '--replay', await twoRuns(at.world));
    const terminal = chat(at.world, id, '--tail', '0');
    await terminal.prompt();
    terminal.type(`/diff${KEYS.enter}`);
    await terminal.sees('+one');
    await terminal.prompt();
    terminal.type(`/nope${KEYS.enter}`);
    await terminal.sees('unknown command /nope');
    await terminal.sees('> /nope');
    terminal.type(`${KEYS.ctrlC}/help${KEYS.enter}`);
    await terminal.sees('/approve');
    await terminal.prompt();
    terminal.type(KEYS.ctrlC);
    expect(await terminal.ended).toBe(130);
    expect(await messages(id)).toHaveLength(1);
  });

  it('sends a message that begins with // with one slash, and obeys no text of the agent', async () => {
    const replay = await replayFile(at.world, 'slashes.json', [
      finish('/quit\n/stop\ny'),
      run('echo /quit'),
      finish('> /quit\x1b[2J'),
    ]);
    const id = await endedRun(at.world, '--replay', replay);
    const terminal = chat(at.world, id);
    await terminal.sees('/quit');
    await terminal.prompt();
    terminal.type(`//etc/hosts is wrong${KEYS.enter}`);
    await terminal.sees('you    /etc/hosts is wrong');
    await terminal.sees('> /quit\\x1b[2J');
    await terminal.prompt();
    terminal.type(KEYS.ctrlD);
    expect(await terminal.ended).toBe(0);
    expect((await messages(id)).at(-1)).toBe('/etc/hosts is wrong');
  });

  it('stops the run on Ctrl-C, and shows the prompt', async () => {
    const { id } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`next${KEYS.ctrlC}`);
    await terminal.sees('stopping the run');
    await terminal.sees('> next');
    expect(json(await conv('show', id, '--json')).status).toMatch(/paused|stopped/);
    terminal.type(`${KEYS.ctrlC}${KEYS.ctrlC}`);
    expect(await terminal.ended).toBe(130);
  });

  it('stops the run on /stop typed during it, and keeps the other lines for the prompt', async () => {
    const { id } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`first${KEYS.enter}/stop${KEYS.enter}second`);
    await terminal.sees('stopping the run');
    await terminal.sees('> first');
    await terminal.sees('second');
    terminal.type(`${KEYS.ctrlC}${KEYS.ctrlD}`);
    expect(await terminal.ended).toBe(0);
    expect(await messages(id)).toHaveLength(1);
  });

  it('leaves with 0 on /quit typed during a run, which continues', async () => {
    const { id, release } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`/quit${KEYS.enter}`);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(`conversation ${id} remains; continue it: acs conv chat ${id}`);
    expect(json(await conv('show', id, '--json')).status).toBe('running');
    await release();
  });

  it('leaves with 130 on Ctrl-C twice, and says how to continue', async () => {
    const { id, release } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`${KEYS.ctrlC}${KEYS.ctrlC}`);
    expect(await terminal.ended).toBe(130);
    expect(terminal.shown()).toContain(`conversation ${id} remains; continue it: acs conv chat ${id}`);
    expect(terminal.shown()).not.toMatch(/warning|error:/);
    await release();
  });

  describe('while an action is pending', () => {
    it('shows it, and accepts it on y', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const terminal = chat(at.world, id);
      await terminal.sees('an action awaits approval');
      await terminal.sees('touch ');
      await terminal.sees('reject: ');
      expect(did(1)).toBe(false);
      terminal.type(`y${KEYS.enter}`);
      await terminal.sees('accepted: ');
      await terminal.sees('reject: ');
      expect([did(1), did(2)]).toEqual([true, false]);
      terminal.type(`/approve${KEYS.enter}`);
      await terminal.sees('all done');
      await terminal.prompt();
      terminal.type(KEYS.ctrlD);
      expect(await terminal.ended).toBe(0);
    });

    it('rejects it on n, and asks for a message', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const terminal = chat(at.world, id);
      await terminal.sees('reject: ');
      terminal.type(KEYS.enter);
      await terminal.sees('reject: ');
      terminal.type(`/diff${KEYS.enter}`);
      await terminal.sees(api === 'v1' ? 'nothing changed' : 'no other change is known');
      await terminal.sees('reject: ');
      terminal.type(`n${KEYS.enter}`);
      await terminal.sees('an action was rejected');
      await terminal.prompt();
      terminal.type(KEYS.ctrlD);
      expect(await terminal.ended).toBe(0);
      expect(did(1)).toBe(false);
    });

    it('sends a reason where the server takes one, and asks again where it does not', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const terminal = chat(at.world, id);
      await terminal.sees('reject: ');
      terminal.type(`use b.txt${KEYS.enter}`);
      if (api === 'v0') {
        await terminal.sees('warning: ');
        await terminal.sees('reject: ');
        terminal.type(`/reject${KEYS.enter}`);
      } else await terminal.sees('use b.txt');
      await terminal.sees('an action was rejected');
      await terminal.prompt();
      terminal.type(KEYS.ctrlD);
      expect(await terminal.ended).toBe(0);
      expect(did(1)).toBe(false);
    });

    it('closes the question when another client answers, and drops the answer that was begun', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const terminal = chat(at.world, id);
      await terminal.sees('reject: ');
      terminal.type('not th');
      await terminal.sees('not th');
      expect((await conv('confirm', id, '--accept')).code).toBe(0);
      await terminal.sees('all done');
      await terminal.prompt();
      terminal.type(KEYS.ctrlC);
      expect(await terminal.ended).toBe(130);
      expect(did(1)).toBe(true);
    });

    it('leaves on /quit with 0 and on Ctrl-C with 130, and the action stays pending', async () => {
      const { id, did } = await startWaitingRun(at.world);
      for (const [keys, code] of [
        [`/quit${KEYS.enter}`, 0],
        [KEYS.ctrlC, 130],
      ] as const) {
        const terminal = chat(at.world, id);
        await terminal.sees('reject: ');
        terminal.type(keys);
        expect(await terminal.ended).toBe(code);
        expect(terminal.shown()).toContain('remains; continue it');
      }
      await untilStatus(at.world, id, 'waiting');
      expect(did(1)).toBe(false);
    });
  });

  it('asks to resume a paused sandbox before it sends, and puts the message back when the answer is no', async () => {
    const id = await endedRun(at.world, '--replay', await twoRuns(at.world));
    const { sandbox_id: sandbox } = json<ConversationJson>(await conv('show', id, '--json'));
    if (sandbox === null) return void expect((await conv('stop', id)).code).toBe(0);
    expect((await at.world.acs('sandbox', 'pause', sandbox)).code).toBe(0);
    const terminal = chat(at.world, id);
    await terminal.prompt();
    terminal.type(`continue${KEYS.enter}`);
    await terminal.sees('is paused. Resume it?');
    terminal.type(`n${KEYS.enter}`);
    await terminal.sees('warning: ');
    await terminal.sees('> continue');
    terminal.type(KEYS.enter);
    await terminal.sees('is paused. Resume it?');
    terminal.type(KEYS.enter);
    await terminal.sees('The second is done.');
    await terminal.prompt();
    terminal.type(KEYS.ctrlD);
    expect(await terminal.ended).toBe(0);
  });

  it('exits 5 when the conversation was deleted, and keeps the message that was typed', async () => {
    const id = await endedRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.prompt();
    expect((await conv('delete', id, '-y', ...(api === 'v1' ? ['--with-sandbox'] : []))).code).toBe(0);
    terminal.type(`too late${KEYS.enter}`);
    expect(await terminal.ended).toBe(5);
    const file = /--file\s+(\S+)/.exec(terminal.shown())?.[1] ?? '';
    expect(await readFile(file, 'utf8')).toBe('too late\n');
    await rm(path.dirname(file), { recursive: true });
  });

  it('puts a message back when the server does not answer, and sends it later', async () => {
    const id = await endedRun(at.world, '--replay', await twoRuns(at.world));
    const terminal = chat(at.world, id);
    await terminal.prompt();
    await at.world.service.close('the test stops it');
    terminal.type(`next${KEYS.enter}`);
    await terminal.sees('warning: ');
    await terminal.sees('> next');
    await at.world.restart();
    await until(async () => (await conv('show', id, '--json')).code === 0);
    terminal.type(KEYS.ctrlC);
    terminal.type(KEYS.ctrlD);
    expect(await terminal.ended).toBe(0);
    expect(await messages(id)).toHaveLength(1);
  });

  it('exits 2 off a terminal, naming conv send --follow, and for flags that do not fit', async () => {
    const id = 'f'.repeat(32);
    const off = await conv('chat', id);
    expect(off.code).toBe(2);
    expect(off.err).toContain('acs conv send <id> <message> --follow');
    for (const args of [
      [id, '--no-input'],
      [id, '--dry-run'],
      [id, '--title', 'x'],
      [id, '-m', 'x'],
      ['--file', '-'],
      ['no id'],
    ])
      expect(await chat(at.world, ...args).ended, args.join(' ')).toBe(2);
  });
});
