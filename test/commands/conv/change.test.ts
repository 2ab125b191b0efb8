import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import {
  endedRun,
  errorOf,
  finish,
  json,
  jsonLines,
  replayFile,
  run,
  startHeldRun,
  type OutcomeJson,
} from './support.ts';
import type { BulkResult } from '../../../src/output/options.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
  const show = async (word: string) => json(await conv('show', word, '--json'));
  const ended = () => endedRun(world);
  const held = () => startHeldRun(world);
  const texts = async (id: string) =>
    json<{ items: { source: string; text: string }[] }>(
      await conv('events', id, '--source', 'user', '--json'),
    ).items.map(({ text }) => text);

  describe('conv send', () => {
    it('sends a message and tells the run that it begins apart from the one before', async () => {
      const id = await ended();
      expect((await show(id)).status).toBe('finished');
      const sent = await conv('send', id, 'and now this', '--wait', '--json');
      expect(sent.code).toBe(1);
      expect(json<OutcomeJson>(sent)).toMatchObject({ conversation_id: id, status: 'failed' });
      expect(await texts(id)).toContain('and now this');
    });

    it('returns at once without --wait', async () => {
      const id = await ended();
      const sent = await conv('send', id, 'more', '--json');
      expect(sent.code).toBe(0);
      expect(json(sent)).toMatchObject({ id, changed: true });
    });

    it('shows only the run it begins with --follow', async () => {
      const id = await ended();
      const sent = await conv('send', id, 'go on', '--follow', '--json');
      expect(sent.code).toBe(1);
      const lines = jsonLines<{ type: string; text?: string }>(sent.out);
      const said = lines.map(({ text }) => text);
      expect(said).toContain('go on');
      expect(said).not.toContain('Show what you can do.');
      expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'failed' });
    });

    it('takes the message from a file or stdin, and refuses an empty one', async () => {
      const id = await ended();
      await writeFile(path.join(world.dir, 'more.md'), 'from a file');
      expect((await conv('send', id, '-F', 'more.md')).code).toBe(0);
      expect((await world.invoke({ args: ['conv', 'send', id, '-'], stdin: 'from stdin' })).code).toBe(0);
      expect((await conv('send', id, '')).code).toBe(2);
      expect((await conv('send', id)).code).toBe(2);
      expect(await texts(id)).toEqual(expect.arrayContaining(['from a file', 'from stdin']));
    });
  });

  describe('conv stop', () => {
    it('stops a run, and changes nothing the second time', async () => {
      const { id } = await held();
      const stopped = await conv('stop', id, '--json');
      expect(stopped.code, stopped.err).toBe(0);
      expect(json(stopped)).toMatchObject({ id, changed: true });
      expect(['paused', 'stopped']).toContain(json(stopped).status);
      expect(json(await conv('stop', id, '--json'))).toMatchObject({ changed: false });
      expect((await conv('wait', id)).code).toBe(6);
    });

    it('leaves a run that has ended as it is', async () => {
      const id = await ended();
      expect(json(await conv('stop', id, '--json'))).toMatchObject({ status: 'finished', changed: false });
    });
  });

  describe('conv rename', () => {
    it('gives another title, and changes nothing when it has it', async () => {
      const id = await ended();
      expect(json(await conv('rename', id, 'Another', '--json'))).toMatchObject({ title: 'Another', changed: true });
      expect(json(await conv('rename', id, 'Another', '--json'))).toMatchObject({ changed: false });
      expect((await conv('rename', id, ' ')).code).toBe(2);
      expect((await conv('rename', id, 'x'.repeat(201))).code).toBe(2);
      expect((await show(id)).title).toBe('Another');
    });
  });

  describe('conv delete', () => {
    it('needs a yes where it cannot ask', async () => {
      const id = await ended();
      expect((await conv('delete', id)).code).toBe(2);
      expect((await show(id)).id).toBe(id);
      expect(json(await conv('delete', id, '-y', '--json'))).toMatchObject({ id, changed: true });
      expect((await conv('show', id)).code).toBe(5);
      expect((await conv('delete', id, '-y')).code).toBe(5);
      expect(json(await conv('delete', id, '-y', '--ignore-not-found', '--json'))).toMatchObject({
        changed: false,
        status: 'deleted',
      });
    });

    it('sends nothing in a dry run', async () => {
      const id = await ended();
      const dry = await conv('delete', id, '--dry-run', '--json');
      expect(dry.code).toBe(0);
      expect(json<{ requests: { method: string }[] }>(dry).requests).toMatchObject([{ method: 'DELETE' }]);
      expect((await show(id)).id).toBe(id);
    });

    it('has nothing to send in a dry run for what is not there', async () => {
      const gone = await conv('delete', 'f'.repeat(32), '--dry-run', '--ignore-not-found', '--json');
      expect({ code: gone.code, out: json(gone) }).toEqual({ code: 0, out: { dry_run: true, requests: [] } });
    });

    it('deletes several, and says which it could not', async () => {
      const id = await ended();
      const many = await conv('delete', id, 'f'.repeat(32), '-y', '--json');
      expect(many.code).toBe(1);
      expect(json<BulkResult>(many)).toMatchObject({ matched: 2, failed: 1 });
    });
  });
});

describe('changing conversations', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());
  const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);

  it('by selector spares runs in progress, unless forced', async () => {
    const done = await endedRun(world);
    const busy = await startHeldRun(world);
    const spared = await conv('delete', '--all', '-y', '--json');
    expect(spared.code).toBe(1);
    expect(json<BulkResult>(spared)).toMatchObject({ matched: 2, failed: 1 });
    expect((await conv('show', done)).code).toBe(5);
    expect((await conv('show', busy.id)).code).toBe(0);
    expect((await conv('delete', '--all', '-y', '--force')).code).toBe(0);
    expect((await conv('show', busy.id)).code).toBe(5);
  });

  it('by selector with nothing that matches is done', async () => {
    const none = await conv('delete', '--status', 'stuck', '-y', '--json');
    expect(none.code).toBe(0);
    expect(json(none)).toEqual({ items: [], matched: 0, failed: 0 });
  });

  it('needs ids or selectors, and not both', async () => {
    expect((await conv('delete', '-y')).code).toBe(2);
    expect((await conv('stop')).code).toBe(2);
    expect((await conv('delete', '@last', '--all', '-y')).code).toBe(2);
  });

  it('sends to a paused sandbox only with --resume', async () => {
    const id = await endedRun(world);
    const { sandbox_id: sandbox } = json(await conv('show', id, '--json'));
    await world.acs('sandbox', 'pause', sandbox ?? '');
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
    expect(json(await world.acs('sandbox', 'show', sandbox ?? '', '--json')).status).toBe('paused');
    const woken = await conv('send', id, 'hello', '--resume', '--wait', '--json');
    expect(json<OutcomeJson>(woken)).toMatchObject({ status: 'failed', reason: { code: 'NoModel' } });
  });

  it('sends nothing to a conversation whose sandbox is gone', async () => {
    const id = await endedRun(world);
    const { sandbox_id: sandbox } = json(await conv('show', id, '--json'));
    await world.acs('sandbox', 'delete', sandbox ?? '', '-y');
    expect((await conv('send', id, 'hello')).code).toBe(6);
    expect((await conv('wait', id)).code).toBe(0);
    expect((await conv('events', id, '-q')).out).not.toBe('');
  });

  it('sends nothing while a confirmation waits: the message would carry the action out', async () => {
    const file = await replayFile(world, 'touch.json', [run('touch carried-out'), finish('done')]);
    expect((await world.acs('settings', 'set', 'confirmation_mode=true')).code).toBe(0);
    const waiting = await conv('new', 'do it', '--no-repo', '--replay', file, '--wait', '--json');
    expect((await world.acs('settings', 'set', 'confirmation_mode=false')).code).toBe(0);
    expect(waiting.code, waiting.err).toBe(8);
    const { id } = json(waiting);
    expect(json(waiting)).toMatchObject({ status: 'waiting', outcome: { waiting_for: 'confirmation' } });
    expect((await conv('send', id, 'hello', '--json')).code).toBe(8);
    expect((await conv('follow', id)).code).toBe(8);
    expect((await conv('show', id, '--exit-status')).code).toBe(8);
    expect((await conv('diff', id)).out).toBe('');
  });
});
