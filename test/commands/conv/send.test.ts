import { chmod, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BIN } from '../../e2e/processes.ts';
import { useWorld } from '../../support/use-world.ts';
import type { Ended } from '../../support/world.ts';
import {
  alone,
  endedRun,
  finish,
  jsonLines,
  putToSleep,
  replayFile,
  startWaitingRun,
  statusOf,
  until,
} from './support.ts';

const UNKNOWN = 'f'.repeat(32);

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('conv send over %s', (api) => {
  const at = useWorld({ api, spec: 'process', oneSandbox: true });
  const send = (id: string, ...words: string[]) => at.acs('conv', 'send', id, ...words);
  /** The messages of the user. */
  const messages = async (id: string) => {
    const { items } = await at.json<{ items: { text: string }[] }>(
      `conv events ${id} --source user`,
    );
    return items.map(({ text }) => text);
  };

  it('--wait exits with the outcome of the run that the message starts, not of the run before', async () => {
    const id = await endedRun(at.world);
    const out = { conversation_id: id, status: 'failed' };
    await at.ends(['conv', 'send', id, 'and now this', '--wait', '--json'], { code: 1, out });
    expect(await messages(id)).toContain('and now this');
  });

  it('returns without --wait as soon as the message is accepted, and reads it from a file or stdin', async () => {
    const id = await endedRun(at.world);
    await at.ends(`conv send ${id} more --json`, { out: { id, changed: true } });
    await at.file('more.md', 'from a file');
    await at.ends(`conv send ${id} -F more.md`, {});
    await at.ends(`conv send ${id} -`, { stdin: 'from stdin' });
    await at.ends(['conv', 'send', id, ''], { code: 2 });
    await at.ends(`conv send ${UNKNOWN}`, { code: 2 });
    expect(await messages(id)).toEqual(expect.arrayContaining(['from a file', 'from stdin']));
  });

  it('--follow prints only the events of the run that the message starts', async () => {
    const id = await endedRun(at.world);
    const sent = await at.ends(['conv', 'send', id, 'go on', '--follow', '--json'], { code: 1 });
    const lines = jsonLines<{ type: string; text?: string }>(sent.out);
    const said = lines.map(({ text }) => text);
    expect(said).toContain('go on');
    expect(said).not.toContain('Show what you can do.');
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'failed' });
  });

  it('exits 8 while a confirmation is pending, because a message would execute the action', async () => {
    const { id, did } = await startWaitingRun(alone(at.world));
    await at.ends(`conv send ${id} hello --json`, { code: 8, err: 'conv confirm' });
    await at.ends(`conv follow ${id}`, { code: 8 });
    await at.ends(`conv show ${id} --exit-status`, { code: 8 });
    expect((await at.acs('conv', 'diff', id)).out).toBe('');
    expect(did(1)).toBe(false);
  });

  it('--reject rejects the action and then sends the message', async () => {
    const { id, did } = await startWaitingRun(at.world);
    const words = ['conv', 'send', id, 'another way', '--reject', '--json'];
    await at.ends([...words, '--dry-run'], { out: { requests: [{ method: 'POST' }] }, writes: [] });
    expect(await statusOf(at.world, id)).toBe('waiting');
    await at.ends([...words, '--wait'], { out: { conversation_id: id, status: 'finished' } });
    expect(did(1)).toBe(false);
    expect(await messages(id)).toContain('another way');
  });

  it('--accept accepts the action, sends the message, and executes no next action without an answer', async () => {
    const { id, did } = await startWaitingRun(at.world, 2);
    const sent = await send(id, 'and this', '--accept', '--json');
    await until(() => did(1));
    await until(async () => (await statusOf(at.world, id)) === 'waiting');
    expect([0, 8], sent.err).toContain(sent.code);
    expect(did(2)).toBe(false);
    const one = await startWaitingRun(at.world);
    expect((await send(one.id, 'and that', '--accept')).code).toBe(0);
    expect(await messages(one.id)).toContain('and that');
  });

  it('--accept sends the message while the accepted action is executed', async () => {
    const ended = path.join(at.dir, `ended-${api}`);
    const { id } = await startWaitingRun(at.world, 1, ended);
    await at.ends(`conv send ${id} meanwhile --accept`, { err: 'sent to conversation' });
    expect(await messages(id)).toContain('meanwhile');
    await at.file(`ended-${api}`, '');
    await at.ends(`conv wait ${id}`, { out: /finished/ });
  });

  it('--accept exits 6 when no confirmation is pending', async () => {
    const id = await endedRun(at.world);
    await at.ends(`conv send ${id} x --accept`, { code: 6 });
    expect(await statusOf(at.world, id)).toBe('finished');
  });

  it('exits 6 for a paused sandbox without --resume', async () => {
    const id = await endedRun(alone(at.world));
    await putToSleep(at, id);
    await at.ends(`conv send ${id} hello`, { code: 6, err: '--resume' });
    const url = expect.stringMatching(api === 'v1' ? /\/resume$/ : /\/start$/) as string;
    await at.ends(`conv send ${id} hello --resume --dry-run --json`, {
      out: { requests: [{ method: 'POST', url }] },
    });
    await at.ends(`conv send ${id} hello --resume --wait --json`, {
      code: 1,
      out: { status: 'failed' },
    });
  });

  it.runIf(api === 'v1')(
    'exits 6 when the sandbox was deleted, and wait and events go on',
    async () => {
      const id = await endedRun(alone(at.world));
      const { sandbox_id } = await at.json<{ sandbox_id: string }>(`conv show ${id}`);
      await at.ends(`sandbox delete ${sandbox_id} -y`, {});
      await at.ends(`conv send ${id} hello`, { code: 6 });
      await at.ends(`conv wait ${id}`, {});
      await at.ends(`conv events ${id} -q`, { out: /./ });
    },
  );

  if (api === 'v0') return;
  describe('without a message', () => {
    /** Runs `conv send` on a terminal; `edit` is what the editor does to the file `$1`. */
    const edited = async (
      id: string,
      edit: string,
      ...flags: string[]
    ): Promise<Ended & { opened: boolean }> => {
      const editor = path.join(
        at.dir,
        await at.file('editor.sh', `#!/bin/sh\ntouch '${at.dir}/opened'\n${edit}\n`),
      );
      await chmod(editor, 0o700);
      await rm(path.join(at.dir, 'opened'), { force: true });
      const ended = await at.invoke({
        args: ['conv', 'send', id, ...flags],
        columns: 100,
        env: { EDITOR: editor },
      });
      const opened = await readFile(path.join(at.dir, 'opened')).catch(() => null);
      return { ...ended, opened: opened !== null };
    };

    it('opens the editor on a terminal, and sends what was saved', async () => {
      const replay = await replayFile(at.world, 'two.json', [finish('1'), finish('2')]);
      const id = await endedRun(at.world, '--replay', replay);
      const sent = await edited(id, 'echo "from the editor" >> "$1"', '--wait');
      expect(sent.code, sent.err).toBe(0);
      expect((await messages(id)).at(-1)).toBe('from the editor');
    });

    it('exits 2 and sends nothing when the text is left empty', async () => {
      const id = await endedRun(at.world);
      const sent = await edited(id, ':');
      expect([sent.code, sent.err]).toEqual([2, expect.stringContaining('the message is empty')]);
      expect(await messages(id)).toHaveLength(1);
    });

    it('does not open the editor where a message would be refused', async () => {
      const { id } = await startWaitingRun(at.world);
      expect(await edited(id, ':')).toMatchObject({ code: 8, opened: false });
      expect(await edited(UNKNOWN, ':')).toMatchObject({ code: 5, opened: false });
    });

    it('prints the text when it cannot be sent', async () => {
      const id = await endedRun(alone(at.world));
      const { ACS_BASE_URL, ACS_API_KEY } = at.world.env;
      const acs =
        `ACS_BASE_URL='${ACS_BASE_URL}' ACS_API_KEY='${ACS_API_KEY}' '${process.execPath}' ` +
        `'${BIN}'`;
      const sent = await edited(
        id,
        `echo "too late" >> "$1"\n${acs} conv delete ${id} -y --with-sandbox`,
      );
      expect(sent.code, sent.err).toBe(5);
      expect(sent.err).toContain('the message was not sent:\n  too late\n');
    });
  });
});
