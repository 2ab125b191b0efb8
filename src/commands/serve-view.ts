/** What `acs serve` prints, one view for each form. */
import type { RecordShape, View } from '../output/view.ts';
import type { LocalServiceStatus } from '../service-control.ts';
import { invalidValue } from './option-parsers.ts';

export const statusView: View<LocalServiceStatus> = {
  noun: 'service status',
  id: (it) => (it.pid === null ? '' : String(it.pid)),
  fields: [
    { name: 'running', get: (it) => it.running },
    { name: 'url', get: (it) => it.url, weight: 0 },
    { name: 'pid', get: (it) => it.pid },
    { name: 'version', get: (it) => it.version },
    { name: 'started_at', get: (it) => it.started_at, as: 'time' },
    { name: 'data_dir', get: (it) => it.data_dir },
    { name: 'conversations_running', get: (it) => it.conversations_running },
    { name: 'sandboxes_running', get: (it) => it.sandboxes_running },
    { name: 'scenario', get: (it) => it.scenario },
    { name: 'replay', get: (it) => it.replay },
  ],
  table: ['running', 'url', 'pid', 'version', 'started_at'],
  tsv: [
    'running',
    'url',
    'pid',
    'version',
    'started_at',
    'data_dir',
    'conversations_running',
    'sandboxes_running',
    'scenario',
    'replay',
  ],
};

export const startedView: View<{ url: string; pid: number; data_dir: string }> = {
  noun: 'started service',
  id: (it) => String(it.pid),
  fields: [
    { name: 'url', get: (it) => it.url, weight: 0 },
    { name: 'pid', get: (it) => it.pid },
    { name: 'data_dir', get: (it) => it.data_dir },
  ],
  table: ['url', 'pid', 'data_dir'],
  tsv: ['url', 'pid', 'data_dir'],
};

/** What the service prints in the foreground once it accepts requests. */
export const readyShape: RecordShape = {
  noun: 'ready service',
  fields: [{ name: 'type' }, ...startedView.fields],
};

export const stoppedView: View<{ pid: number | null; data_dir: string }> = {
  noun: 'stopped service',
  id: (it) => (it.pid === null ? '' : String(it.pid)),
  fields: [
    { name: 'pid', get: (it) => it.pid },
    { name: 'data_dir', get: (it) => it.data_dir },
  ],
  table: ['pid', 'data_dir'],
  tsv: ['pid', 'data_dir'],
};

export const pruneView: View<{ conversations: number; sandboxes: number }> = {
  noun: 'prune result',
  id: () => '',
  fields: [
    { name: 'conversations', get: (it) => it.conversations, as: 'number' },
    { name: 'sandboxes', get: (it) => it.sandboxes, as: 'number' },
  ],
  table: ['conversations', 'sandboxes'],
  tsv: ['conversations', 'sandboxes'],
};

/** 0 stands for a free one. */
export function portNumber(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port > 65_535) throw invalidValue('It must be a port: 0 to 65535.');
  return port;
}
