import type { ModelProfile } from '../../../domain/model-profile.ts';
import type { Field, View } from '../../../output/view.ts';

const FIELDS: Field<ModelProfile>[] = [
  { name: 'name', get: (it) => it.name, weight: 0 },
  { name: 'model', get: (it) => it.model, weight: 2 },
  { name: 'base_url', get: (it) => it.base_url, weight: 2 },
  { name: 'api_key_set', get: (it) => it.api_key_set },
  { name: 'active', get: (it) => it.active },
];
const NAMES = ['name', 'model', 'base_url', 'api_key_set', 'active'];

export const modelProfileView: View<ModelProfile> = {
  noun: 'model profile',
  id: (it) => it.name,
  fields: FIELDS,
  table: NAMES,
  tsv: NAMES,
};

export type ModelProfileDetail = ModelProfile & { config: Record<string, unknown> };

export const modelProfileDetailView: View<ModelProfileDetail> = {
  noun: 'model profile',
  id: (it) => it.name,
  fields: [...FIELDS, { name: 'config', get: (it) => it.config, as: 'json' }],
  table: NAMES,
  tsv: NAMES,
};
