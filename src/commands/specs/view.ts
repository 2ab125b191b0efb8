import type { Spec } from '../../domain/spec.ts';
import type { View } from '../../output/view.ts';

export const specView: View<Spec> = {
  noun: 'spec',
  id: (spec) => spec.id,
  fields: [
    { name: 'id', get: (spec) => spec.id, weight: 3 },
    { name: 'default', get: (spec) => spec.default, weight: 0 },
    { name: 'command', get: (spec) => spec.command, as: 'json', json: { list: true } },
    { name: 'working_dir', get: (spec) => spec.working_dir, weight: 2 },
    { name: 'created_at', get: (spec) => spec.created_at, as: 'time', weight: 0 },
  ],
  table: ['id', 'default', 'working_dir', 'created_at'],
  tsv: ['id', 'default', 'command', 'working_dir', 'created_at'],
};
