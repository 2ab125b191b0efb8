import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { putToSleep } from './asleep.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, errorOf, finish, json, jsonLines, type OutcomeJson, replayFile, run, until } from './support.ts';
import { startWaitingRun, statusOf, untilStatus } from './waiting-run.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv, show, ended } = at;
  const texts = async (id: string) =>
    json<{ items: { source: string; text: string }[] }>(
      await conv('events', id, '--source', 'user', '--json'),
    ).items.map(({ text }) => text);

  describe('conv send', () => {
    it('--wait exits with the outcome of the run that the message starts, not of the run before', async () => {
      const id = await ended();
      expect((await show(id)).status).toBe('finished');
      const sent = await conv('send', id, 'and now this', '--wait', '--json');
      expect(sent.code).toBe(1);
      expect(json<OutcomeJson>(sent)).toMatchObject({ conversation_id: id, status: 'failed' });
      expect(await texts(id)).toContain('and now this');
    });

    it('returns without --wait as soon as the message is accepted', async () => {
      const id = await ended();
      const sent = await conv('send', id, 'more', '--json');
      expect(sent.code).toBe(0);
      expect(json(sent)).toMatchObject({ id, changed: true });
    });

    it('--follow prints only the events of the run that the message starts', async () => {
      const id = await ended();
      const sent = await conv('send', id, 'go on', '--follow', '--json');
      expect(sent.code).toBe(1);
      const lines = jsonLines<{ type: string; text?: string }>(sent.out);
      const said = lines.map(({ text }) => text);
      expect(said).toContain('go on');
      expect(said).not.toContain('Show what you can do.');
      expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'failed' });
    });

    it('reads the message from a file or stdin, and exits 2 for an empty one', async () => {
      const id = await ended();
      await writeFile(path.join(at.world.dir, 'more.md'), 'from a file');
      expect((await conv('send', id, '-F', 'more.md')).code).toBe(0);
      expect((await at.world.invoke({ args: ['conv', 'send', id, '-'], stdin: 'from stdin' })).code).toBe(0);
      expect((await conv('send', id, '')).code).toBe(2);
      expect((await conv('send', id)).code).toBe(2);
      expect(await texts(id)).toEqual(expect.arrayContaining(['from a file', 'from stdin']));
    });
  });
});

describe('conversation changes', () => {
  const at = useConvWorld({ api: 'v1', spec: 'process' });
  const { conv } = at;

  it('conv send to a paused sandbox exits 6 without --resume', async () => {
    const id = await endedRun(at.world);
    const { sandbox_id: sandbox } = json(await conv('show', id, '--json'));
    await at.world.acs('sandbox', 'pause', sandbox ?? '');
    const refused = await conv('send', id, 'hello', '--json');
    expect(refused.code).toBe(6);
    expect(errorOf(refused)).toMatchObject({
      sandbox_status: 'paused',
      hint: expect.stringContaining('--resume') as string,
    });
    const dry = await conv('send', id, 'hello', '--resume', '--dry-run', '--json');
    expect(json<{ requests: unknown[] }>(dry).requests).toMatchObject([
      { method: 'POST', url: expect.stringMatching(/\/resume$/) as string, body: null },
      { method: 'POST', body: { content: [{ type: 'text', text: 'hello' }] } },
    ]);
    expect(json(await at.world.acs('sandbox', 'show', sandbox ?? '', '--json')).status).toBe('paused');
    const woken = await conv('send', id, 'hello', '--resume', '--wait', '--json');
    expect(json<OutcomeJson>(woken)).toMatchObject({ status: 'failed', reason: { code: 'NoModel' } });
  });

  it('conv send exits 6 when the sandbox was deleted', async () => {
    const id = await endedRun(at.world);
    const { sandbox_id: sandbox } = json(await conv('show', id, '--json'));
    await at.world.acs('sandbox', 'delete', sandbox ?? '', '-y');
    expect((await conv('send', id, 'hello')).code).toBe(6);
    expect((await conv('wait', id)).code).toBe(0);
    expect((await conv('events', id, '-q')).out).not.toBe('');
  });

  it('conv send exits 8 while a confirmation is pending, because a message would execute the action', async () => {
    const file = await replayFile(at.world, 'touch.json', [run('touch carried-out'), finish('done')]);
    expect((await at.world.acs('settings', 'set', 'confirmation_mode=true')).code).toBe(0);
    const waiting = await conv('new', 'do it', '--no-repo', '--replay', file, '--wait', '--json');
    expect((await at.world.acs('settings', 'set', 'confirmation_mode=false')).code).toBe(0);
    expect(waiting.code, waiting.err).toBe(8);
    const { id } = json(waiting);
    expect(json(waiting)).toMatchObject({ status: 'waiting', outcome: { waiting_for: 'confirmation' } });
    expect((await conv('send', id, 'hello', '--json')).code).toBe(8);
    expect((await conv('follow', id)).code).toBe(8);
    expect((await conv('show', id, '--exit-status')).code).toBe(8);
    expect((await conv('diff', id)).out).toBe('');
  });
});

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;

  describe('conv send', () => {
    it('exits 8 while a confirmation is pending, and names the flags that answer it', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const refused = await conv('send', id, 'hello', '--json');
      expect(refused.code).toBe(8);
      expect(errorOf(refused).hint).toContain('conv confirm');
      expect(did(1)).toBe(false);
    });

    it('--reject rejects the action and then sends the message', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const dry = await conv('send', id, 'another way', '--reject', '--dry-run', '--json');
      expect(dry.code, dry.err).toBe(0);
      const [first, ...rest] = json<{ requests: { method: string }[] }>(dry).requests;
      expect(first).toMatchObject({ method: 'POST' });
      // V0 takes no message before the answer, so its request is only named.
      expect(JSON.stringify(rest) + dry.err).toContain(api === 'v1' ? 'another way' : 'then: send the message');
      expect(await statusOf(at.world, id)).toBe('waiting');
      const sent = await conv('send', id, 'another way', '--reject', '--wait', '--json');
      expect(json<OutcomeJson>(sent)).toMatchObject({ conversation_id: id, status: 'finished' });
      expect(sent.code, sent.err).toBe(0);
      expect(did(1)).toBe(false);
      const { items } = json<{ items: { text: string }[] }>(await conv('events', id, '--source', 'user', '--json'));
      expect(items.map(({ text }) => text)).toContain('another way');
    });

    it('--accept accepts the action and then sends the message', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const sent = await conv('send', id, 'and this', '--accept', '--json');
      expect(sent.code, sent.err).toBe(0);
      await until(() => did(1));
      const { items } = json<{ items: { text: string }[] }>(await conv('events', id, '--source', 'user', '--json'));
      expect(items.map(({ text }) => text)).toContain('and this');
    });

    it('does not execute the next action without an answer', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const sent = await conv('send', id, 'and this', '--accept', '--json');
      await until(() => did(1));
      await untilStatus(at.world, id, 'waiting');
      expect([0, 8]).toContain(sent.code);
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('--accept exits 6 when no confirmation is pending', async () => {
      const id = await endedRun(at.world);
      expect((await conv('send', id, 'x', '--accept')).code).toBe(6);
      expect(await statusOf(at.world, id)).toBe('finished');
    });

    it('exits 6 for a paused sandbox without --resume', async () => {
      const id = await endedRun(at.world);
      await putToSleep(at.world, id);
      expect((await conv('send', id, 'hello')).code).toBe(6);
      expect((await conv('send', id, 'hello', '--resume', '--wait')).code).toBe(1);
    });
  });
});
