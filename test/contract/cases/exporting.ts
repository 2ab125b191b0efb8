/** Exports of conversations, while their sandbox runs and afterwards. */
import { unzipSync } from 'fflate';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { events, inEachDialect, lines, ok, show, started, untilPassedOn, withSandboxes } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

interface ExportLine {
  type: string;
  id: string;
  source: string;
  patch: string;
  omissions: string[];
}

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not in it';

const exported = async (target: Target, id: string): Promise<ExportLine[]> =>
  lines<ExportLine>(await ok(target, 'conv', 'export', id, '--as', 'ndjson'));

const eventIds = (records: readonly ExportLine[]): string[] =>
  records.filter(({ type }) => type === 'event').map(({ id }) => id);

async function namesInArchive(target: Target, id: string): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-export-'));
  try {
    const file = path.join(folder, 'run.zip');
    await ok(target, 'conv', 'export', id, '--as', 'zip', '-o', file);
    return Object.keys(unzipSync(new Uint8Array(await readFile(file))));
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const EXPORTING: ContractCase[] = [
  ...inEachDialect('export: every event, and the diff of a workspace that can be read', async (target, dialect) => {
    const { id } = await started(target, dialect, 'WORK', ...target.repository.flags, '--branch', 'next', '--wait');
    const records = await exported(target, id);
    expect(records[0]).toMatchObject({ type: 'conversation', id });
    const ids = (await events(target, id)).map((event) => event.id);
    expect(eventIds(records)).toEqual(ids);
    expect(records.at(-1)).toMatchObject({ type: 'diff', source: 'workspace' });
    expect(records.at(-1)?.patch).toContain('+hello from the agent');
    const names = await namesInArchive(target, id);
    expect(names).toHaveLength(ids.length + 2);
    expect(names.slice(-2)).toEqual(['meta.json', 'changes.patch']);
    for (const form of ['md', 'html']) {
      expect((await ok(target, 'conv', 'export', id, '--as', form)).out, form).toContain('+hello from the agent');
    }
  }),
  withSandboxes({
    name: 'export: every event of a paused sandbox, which stays paused, and a diff that is marked',
    async run(target) {
      const { id, sandbox_id } = await started(target, 'v1', 'WORK', '--spec', target.specs[0], '--wait');
      const before = (await events(target, id)).filter(({ kind }) => kind === 'ActionEvent').map((event) => event.id);
      await untilPassedOn(target, id);
      await ok(target, 'sandbox', 'pause', sandbox_id ?? '');
      const records = await exported(target, id);
      expect(eventIds(records)).toEqual(expect.arrayContaining(before));
      expect(records.at(-1)).toMatchObject({ type: 'diff', source: 'edit-events', omissions: [RECONSTRUCTED] });
      expect((await show(target, id)).sandbox_status).toBe('paused');
    },
  }),
];
