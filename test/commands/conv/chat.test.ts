import { describe, expect, it } from 'vitest';
import { readChatInput } from '../../../src/commands/conv/chat.ts';
import { useWorld } from '../../support/use-world.ts';
import {
  alone,
  endedRun,
  finish,
  putToSleep,
  replayFile,
  run,
  startHeldRun,
  until,
  startWaitingRun,
  statusOf,
  chat,
  KEYS,
  twoRuns,
} from './support.ts';

describe.each(['v1', 'v0'] as const)('conv chat over %s', (api) => {
  const at = useWorld({ api, spec: 'process', oneSandbox: true });

  const twice = async (world = at.world) => endedRun(world, '--replay', await twoRuns(world));

  /** The messages of the user, oldest first. */
  const messages = async (id: string): Promise<string[]> => {
    const { items } = await at.json<{ items: { text: string; kind: string }[] }>(
      `conv events ${id} --source user`,
    );
    return items.filter(({ kind }) => /^MessageEvent$|message/.test(kind)).map(({ text }) => text);
  };

  it('follows the run, sends a message, shows its run, and leaves with 0 on /quit', async () => {
    const id = await twice();
    const terminal = chat(at.world, id);
    await terminal.sees('The first is done.');
    await terminal.prompt();
    terminal.type(`the second\\${KEYS.enter}please${KEYS.enter}`);
    await terminal.sees('the second\n       please');
    await terminal.sees('The second is done.');
    await terminal.prompt();
    await terminal.ends(`/quit${KEYS.enter}`, 0);
    expect(terminal.shown()).toContain(`conversation ${id} is kept; continue it: acs conv chat`);
    expect(terminal.shown().match(/The first is done/g)).toHaveLength(1);
    expect(await messages(id)).toHaveLength(2);
  });

  it('prints the changes on /diff, and names an unknown command without sending it', async () => {
    const id = await twice(alone(at.world));
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
    await terminal.ends(KEYS.ctrlC, 130);
    expect(await messages(id)).toHaveLength(1);
  });

  it('stops the run on Ctrl-C, and shows the prompt', async () => {
    const { id } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`next${KEYS.ctrlC}`);
    await terminal.sees('stopping the run');
    await terminal.sees('> next');
    expect(await statusOf(at.world, id)).toMatch(/paused|stopped/);
    await terminal.ends(`${KEYS.ctrlC}${KEYS.ctrlC}`, 130);
  });

  it('stops the run on /stop typed during it, and keeps the other lines for the prompt', async () => {
    const { id } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    terminal.type(`first${KEYS.enter}/stop${KEYS.enter}second`);
    await terminal.sees('stopping the run');
    await terminal.sees('> first');
    await terminal.sees('second');
    await terminal.ends(`${KEYS.ctrlC}${KEYS.ctrlD}`, 0);
    expect(await messages(id)).toHaveLength(1);
  });

  describe('while an action is pending', () => {
    it('shows it, and accepts it on y', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const terminal = chat(at.world, id);
      await terminal.sees('an action awaits approval');
      await terminal.sees('touch ');
      await terminal.sees('(y/n) ');
      expect(did(1)).toBe(false);
      terminal.type(`y${KEYS.enter}`);
      await terminal.sees('accepted: ');
      await terminal.sees('(y/n) ');
      expect([did(1), did(2)]).toEqual([true, false]);
      terminal.type(`/approve${KEYS.enter}`);
      await terminal.sees('all done');
      await terminal.prompt();
      await terminal.ends(KEYS.ctrlD, 0);
    });

    it('rejects it on /reject, and asks for a message', async () => {
      const { id, did } = await startWaitingRun(alone(at.world));
      const terminal = chat(at.world, id);
      await terminal.sees('(y/n) ');
      terminal.type(KEYS.enter);
      await terminal.sees('(y/n) ');
      terminal.type(`/diff${KEYS.enter}`);
      await terminal.sees(api === 'v1' ? 'nothing changed' : 'no other changes were found');
      await terminal.sees('(y/n) ');
      terminal.type(`/reject${KEYS.enter}`);
      await terminal.sees('an action was rejected');
      await terminal.prompt();
      await terminal.ends(KEYS.ctrlD, 0);
      expect(did(1)).toBe(false);
    });

    it('asks for the reason after no where the server takes one, and takes no other word for an answer', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const terminal = chat(at.world, id);
      await terminal.sees('(y/n) ');
      terminal.type(`use b.txt${KEYS.enter}`);
      await terminal.sees('answer y, yes, n or no');
      await terminal.sees('(y/n) ');
      if (api === 'v0') {
        terminal.type(`/reject use b.txt${KEYS.enter}`);
        await terminal.sees('passes no reason');
        await terminal.sees('(y/n) ');
      }
      terminal.type(`No${KEYS.enter}`);
      if (api === 'v1') {
        await terminal.sees('Reason for the agent (optional): ');
        terminal.type(`use b.txt${KEYS.enter}`);
        await terminal.sees('use b.txt');
      }
      await terminal.sees('an action was rejected');
      await terminal.prompt();
      await terminal.ends(KEYS.ctrlD, 0);
      expect(did(1)).toBe(false);
    });

    it('closes the question when another client answers, and drops the answer that was begun', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const terminal = chat(at.world, id);
      await terminal.sees('(y/n) ');
      terminal.type('not th');
      await terminal.sees('not th');
      await at.ends(`conv confirm ${id} --accept`, {});
      await terminal.sees('all done');
      await terminal.prompt();
      await terminal.ends(KEYS.ctrlC, 130);
      expect(did(1)).toBe(true);
    });

    it('leaves on /quit with 0 and on Ctrl-C with 130, and the action stays pending', async () => {
      const { id, did } = await startWaitingRun(at.world);
      for (const [keys, code] of [
        [`/quit${KEYS.enter}`, 0],
        [KEYS.ctrlC, 130],
      ] as const) {
        const terminal = chat(at.world, id);
        await terminal.sees('(y/n) ');
        await terminal.ends(keys, code);
        expect(terminal.shown()).toContain('is kept; continue it');
      }
      await until(async () => (await statusOf(at.world, id)) === 'waiting');
      expect(did(1)).toBe(false);
    });
  });

  it('puts a message back when the server does not answer, and sends it later', async () => {
    const id = await twice();
    const terminal = chat(at.world, id);
    await terminal.prompt();
    await at.world.service.close('the test stops it');
    terminal.type(`next${KEYS.enter}`);
    await terminal.sees('warning: ');
    await terminal.sees('> next');
    await at.world.restart();
    await until(async () => (await at.acs('conv', 'show', id)).code === 0);
    terminal.type(KEYS.ctrlC);
    await terminal.ends(KEYS.ctrlD, 0);
    expect(await messages(id)).toHaveLength(1);
  });

  // The rest is the same for each dialect.
  if (api === 'v0') return;

  it('starts a conversation without an id, as conv new does', async () => {
    const terminal = chat(
      at.world,
      '--no-repo',
      '-m',
      'begin',
      '--replay',
      await twoRuns(at.world),
    );
    await terminal.sees('begin');
    await terminal.sees('The first is done.');
    await terminal.prompt();
    terminal.type(KEYS.up);
    await terminal.sees('> begin');
    await terminal.ends(`${KEYS.ctrlC}${KEYS.ctrlD}`, 0);
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
    await terminal.ends(KEYS.ctrlD, 0);
    expect((await messages(id)).at(-1)).toBe('/etc/hosts is wrong');
  });

  it('leaves with 0 on /quit typed during a run, which continues', async () => {
    const { id, release } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    await terminal.ends(`/quit${KEYS.enter}`, 0);
    expect(terminal.shown()).toContain(
      `conversation ${id} is kept; continue it: acs conv chat ${id}`,
    );
    expect(await statusOf(at.world, id)).toBe('running');
    await release();
  });

  it('leaves with 130 on Ctrl-C twice, and says how to continue', async () => {
    const { id, release } = await startHeldRun(at.world);
    const terminal = chat(at.world, id);
    await terminal.sees('$ while');
    await terminal.ends(`${KEYS.ctrlC}${KEYS.ctrlC}`, 130);
    expect(terminal.shown()).toContain(
      `conversation ${id} is kept; continue it: acs conv chat ${id}`,
    );
    expect(terminal.shown()).not.toMatch(/warning|error:/);
    await release();
  });

  it('asks to resume a paused sandbox before it sends, and puts the message back when the answer is no', async () => {
    const id = await twice(alone(at.world));
    await putToSleep(at, id);
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
    await terminal.ends(KEYS.ctrlD, 0);
  });

  it('exits 5 when the conversation was deleted, and prints the message that was typed', async () => {
    const id = await endedRun(alone(at.world));
    const terminal = chat(at.world, id);
    await terminal.prompt();
    await at.ends(`conv delete ${id} -y --with-sandbox`, {});
    await terminal.ends(`too late${KEYS.enter}`, 5);
    expect(terminal.shown()).toMatch(/the message was not sent:\s+too late/);
  });

  it('exits 2 off a terminal, naming conv send --follow, and for flags that do not fit', async () => {
    const id = 'f'.repeat(32);
    await at.ends(`conv chat ${id}`, { code: 2, err: 'acs conv send <id> <message> --follow' });
    for (const args of [
      `${id} --no-input`,
      `${id} --dry-run`,
      `${id} --title x`,
      `${id} -m x`,
      '--file -',
      'abc',
    ])
      expect(await chat(at.world, ...args.split(' ')).ended, args).toBe(2);
  });
});

const command = (name: string, text = '') => ({ type: 'command', name, text });

describe('the input of conv chat', () => {
  it.each([
    ['', { type: 'nothing' }],
    [' \n ', { type: 'nothing' }],
    ['go on', { type: 'message', text: 'go on' }],
    [' /diff', { type: 'message', text: ' /diff' }],
    ['see\n/diff', { type: 'message', text: 'see\n/diff' }],
    ['//etc/hosts', { type: 'message', text: '/etc/hosts' }],
    ['//', { type: 'message', text: '/' }],
    ['/diff', command('diff')],
    ['/diff ', command('diff')],
    ['/stop', command('stop')],
    ['/approve', command('approve')],
    ['/reject', command('reject')],
    ['/reject  use b.txt\nand c.txt ', command('reject', 'use b.txt\nand c.txt')],
    ['/quit', command('quit')],
    ['/help', command('help')],
    ['/', { type: 'unknown', word: '/' }],
    ['/nope at all', { type: 'unknown', word: '/nope' }],
    ['/Quit', { type: 'unknown', word: '/Quit' }],
    ['/etc/hosts is wrong', { type: 'unknown', word: '/etc/hosts' }],
    ['/quit now', { type: 'unknown', word: '/quit' }],
    ['/constructor', { type: 'unknown', word: '/constructor' }],
  ])('is read as a message or a command: %j', (text, input) => {
    expect(readChatInput(text)).toEqual(input);
  });
});
