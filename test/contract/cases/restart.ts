/** A server that goes away in the middle, and one that comes back. These cases come last: sandboxes may not outlive it. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { conversation, expectCode, lines, newest, ok, show, until, untilAtWork, type OutcomeJson } from '../support.ts';
import type { ContractCase } from '../target.ts';

export const RESTART: ContractCase[] = [
  {
    name: 'follow: the server is ended and started again in the middle',
    timeoutMs: 240_000,
    async run(target) {
      const file = path.join(target.dir, `${randomUUID()}.id`);
      const flags = ['--follow', '--wait-timeout', '2m', '--format', 'ndjson', '--id-file', file];
      const following = conversation(target, newest(target), 'SLOW', ...flags);
      const readId = (): Promise<string> =>
        readFile(file, 'utf8').then(
          (text) => text.trim(),
          () => '',
        );
      await until('the id', async () => (await readId()) !== '');
      const id = await readId();
      await untilAtWork(target, id);
      await target.restart();
      const ended = await following;
      // The local service pauses the run; the sandboxes of a genuine one are gone with it.
      expectCode(ended, 6);
      const last = lines<OutcomeJson>(ended).at(-1);
      expect(last).toMatchObject({ type: 'outcome', exit_code: 6 });
      expect(['paused', 'stopped', 'archived']).toContain(last?.status);
      expect(['paused', 'stopped', 'archived']).toContain((await show(target, id)).status);
      expect((await ok(target, 'conv', 'events', id, '--json')).out).toContain('SLOW please');
    },
  },
];
