/** The result of a bulk command as rows: one for each thing that was matched. */
import type { RecordShape, View } from './view.ts';

export interface BulkItem {
  /** Null: a server that could not be read; nothing was matched there. */
  id: string | null;
  profile?: string;
  ok: boolean;
  changed: boolean;
  before: string | null;
  after: string | null;
  error: { code: string; message: string } | null;
}

export interface BulkResult {
  items: BulkItem[];
  matched: number;
  failed: number;
}

const bulkView: View<BulkItem> = {
  noun: 'bulk result',
  id: (item) => item.id ?? '',
  fields: [
    { name: 'id', get: (item) => item.id, as: 'id', weight: 0 },
    { name: 'ok', get: (item) => item.ok, weight: 0 },
    { name: 'changed', get: (item) => item.changed, weight: 0 },
    { name: 'before', get: (item) => item.before, as: 'status' },
    { name: 'after', get: (item) => item.after, as: 'status' },
    { name: 'error', get: (item) => (item.error ? `${item.error.code}: ${item.error.message}` : null), weight: 4 },
    { name: 'profile', get: (item) => item.profile ?? null },
  ],
  table: ['id', 'ok', 'changed', 'before', 'after', 'error'],
  tsv: ['id', 'ok', 'changed', 'before', 'after', 'error', 'profile'],
  record: (item) => item,
};

/** The document of a bulk command: `profile` is a member of an item when there are several. */
export const bulkShape: RecordShape = {
  noun: bulkView.noun,
  fields: [{ name: 'items', json: { list: true, members: bulkView.table } }, { name: 'matched' }, { name: 'failed' }],
};

/** The profile is worth a column only when there are several. */
export function bulkViewFor(items: readonly BulkItem[]): View<BulkItem> {
  const named = items.some((item) => item.profile !== undefined);
  return named ? { ...bulkView, table: ['profile', ...bulkView.table] } : bulkView;
}
