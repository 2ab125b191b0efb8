import { expect, test } from 'vitest';
import { capture, taskView } from './capture.ts';
import type { EmitterSettings, OutputKind } from '../../src/output/emitter-options.ts';

const refused = (settings: EmitterSettings, kind: OutputKind, view: typeof taskView | null = taskView) => {
  try {
    capture(settings).emitter.check(view, kind);
    return null;
  } catch (error) {
    return error as { kind: string; message: string; details: { hint?: string } };
  }
};

test('an unknown field is a usage error that lists the known ones', () => {
  expect(refused({ fields: ['id', 'colour'] }, 'list')).toMatchObject({
    kind: 'usage',
    message: 'unknown field "colour" for task',
    details: { hint: 'fields: id, title, status, cost_usd, labels, created_at' },
  });
  expect(refused({ fields: ['title', 'id'] }, 'list')).toBeNull();
});

test.each<[EmitterSettings, OutputKind]>([
  [{ format: 'json' }, 'raw'],
  [{ format: 'id' }, 'raw'],
  [{ fields: ['id'] }, 'raw'],
  [{ format: 'table' }, 'stream'],
  [{ format: 'id', fields: ['id'] }, 'list'],
])('%o is refused for %s', (settings, kind) => {
  expect(refused(settings, kind)).toMatchObject({ kind: 'usage' });
});

test('fields need a view', () => {
  expect(refused({ fields: ['id'] }, 'item', null)).toMatchObject({ kind: 'usage' });
  expect(refused({ format: 'json' }, 'item', null)).toBeNull();
});

test.each<[EmitterSettings, OutputKind]>([
  [{}, 'raw'],
  [{ format: 'json' }, 'stream'],
  [{ format: 'tsv' }, 'stream'],
  [{ format: 'ndjson' }, 'item'],
  [{ format: 'id' }, 'bulk'],
  [{ format: 'table' }, 'bulk'],
])('%o is accepted for %s', (settings, kind) => {
  expect(refused(settings, kind)).toBeNull();
});
