import type { Sandbox, SandboxSecrets } from '../../domain/sandbox.ts';
import type { View } from '../../output/view.ts';

export const sandboxView: View<Sandbox> = {
  noun: 'sandbox',
  id: (sandbox) => sandbox.id,
  fields: [
    { name: 'id', get: (sandbox) => sandbox.id, as: 'id', weight: 3 },
    { name: 'status', get: (sandbox) => sandbox.status, as: 'status', weight: 0 },
    { name: 'status_detail', get: (sandbox) => sandbox.status_detail },
    { name: 'spec_id', get: (sandbox) => sandbox.spec_id, weight: 2 },
    { name: 'created_at', get: (sandbox) => sandbox.created_at, as: 'time', weight: 0 },
    { name: 'last_active_at', get: (sandbox) => sandbox.last_active_at, as: 'time', weight: 0 },
    { name: 'conversation_ids', get: (sandbox) => sandbox.conversation_ids, json: { list: true } },
    { name: 'repositories', get: (sandbox) => sandbox.repositories, weight: 2, json: { list: true } },
    { name: 'urls', get: (sandbox) => sandbox.urls, json: { list: true, members: ['name', 'url'] } },
  ],
  table: ['id', 'status', 'spec_id', 'created_at', 'last_active_at', 'repositories'],
  tsv: ['id', 'status', 'status_detail', 'spec_id', 'created_at', 'last_active_at', 'conversation_ids', 'repositories'],
};

/** The one view that shows a key: behind `show --show-secrets`. */
export const sandboxWithKeyView: View<Sandbox & SandboxSecrets> = {
  ...sandboxView,
  fields: [...sandboxView.fields, { name: 'session_api_key', get: (sandbox) => sandbox.session_api_key, weight: 0 }],
  table: [...sandboxView.table, 'session_api_key'],
  tsv: [...sandboxView.tsv, 'session_api_key'],
};

/** What `sandbox cp` has copied. */
export interface Copied {
  from: string;
  to: string;
  /** Links count as files; folders do not. */
  files: number;
  bytes: number;
}

export const copiedView: View<Copied> = {
  noun: 'copy',
  id: ({ to }) => to,
  fields: [
    { name: 'from', get: ({ from }) => from, weight: 2 },
    { name: 'to', get: ({ to }) => to, weight: 2 },
    { name: 'files', get: ({ files }) => files, as: 'number', weight: 0 },
    { name: 'bytes', get: ({ bytes }) => bytes, as: 'bytes', weight: 0 },
  ],
  table: ['from', 'to', 'files', 'bytes'],
  tsv: ['from', 'to', 'files', 'bytes'],
};
