/** Names and deletion. */
import { expect } from 'vitest';
import {
  endedRun,
  expectCode,
  finished,
  inEachDialect,
  json,
  ok,
  show,
  started,
  titledRun,
  until,
  untilPassedOn,
  untilTitled,
} from '../support.ts';
import type { ContractCase } from '../target.ts';

export const CHANGING: ContractCase[] = [
  ...inEachDialect(
    'rename: sets the title, and changes nothing when it is the same',
    async (target, dialect) => {
      const id = await endedRun(target, dialect, 'QUICK');
      expect(json(await ok(target, 'conv', 'rename', id, 'Another title', '--json'))).toMatchObject(
        {
          title: 'Another title',
          changed: true,
        },
      );
      expect((await show(target, id)).title).toBe('Another title');
      expect(json(await ok(target, 'conv', 'rename', id, 'Another title', '--json')).changed).toBe(
        false,
      );
      expectCode(await target.acs('conv', 'rename', id, ''), 2);
    },
  ),
  // Servers make one up in the background, and write it down later than a short run ends.
  ...inEachDialect(
    'rename: a title that was chosen at the start is still there, or was announced as replaceable',
    async (target, dialect) => {
      const { id, err } = await titledRun(target, dialect);
      if (dialect === 'v1') await untilPassedOn(target, id);
      const { title } = await show(target, id);
      if (title === 'Chosen by hand') return;
      expect(err).toContain('may replace the title with its own');
      await ok(target, 'conv', 'rename', id, 'Chosen by hand');
      expect((await show(target, id)).title).toBe('Chosen by hand');
    },
  ),
  ...inEachDialect(
    'delete: the conversation is deleted after a confirmation, and no other one',
    async (target, dialect) => {
      const kept = await endedRun(target, dialect, 'QUICK');
      // Where acs cannot delete a conversation alone it refuses to in a shared sandbox: see the
      // cases of sandboxes.
      const alone = dialect === 'v1' && target.traits.includes('deletes over V0');
      const gone = (
        await started(
          target,
          dialect,
          'QUICK',
          '--wait',
          ...(alone ? ['--spec', target.specs[0]] : []),
        )
      ).id;
      await untilTitled(target, gone);
      expectCode(await target.acs('conv', 'delete', gone), 2, 'without a yes');
      expect(json(await ok(target, 'conv', 'delete', gone, '-y', '--json')).changed).toBe(true);
      expectCode(await target.acs('conv', 'show', gone), 5);
      expectCode(await target.acs('conv', 'delete', gone, '-y'), 5);
      await ok(target, 'conv', 'delete', gone, '-y', '--ignore-not-found');
      expect((await show(target, kept)).status).toBe('finished');
      const listed = async (): Promise<string[]> =>
        (await ok(target, 'conv', 'list', '-q', '--all-pages')).out.split('\n');
      // On a busy machine release 1.11.0 lists one again when its sandbox reports it after the
      // deletion.
      await until('the list without it', async () => {
        if (!(await listed()).includes(gone)) return true;
        await ok(target, 'conv', 'delete', gone, '-y', '--ignore-not-found');
        return false;
      });
      expect(await listed()).toContain(kept);
    },
  ),
  ...inEachDialect(
    'ids: a prefix, dashes, a URL and @last all name it',
    async (target, dialect) => {
      const id = await finished(target, dialect);
      const dashed = id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      for (const word of [
        id.slice(0, 12),
        dashed,
        `http://example.com/conversations/${id}?x=1`,
        '@last',
      ]) {
        expect((await show(target, word)).id, word).toBe(id);
      }
    },
  ),
];
