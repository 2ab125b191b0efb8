import type { Secret } from '../../domain/secret.ts';
import type { View } from '../../output/view.ts';

export const secretView: View<Secret> = {
  noun: 'secret',
  id: ({ name }) => name,
  fields: [
    { name: 'name', get: ({ name }) => name, weight: 0 },
    { name: 'description', get: ({ description }) => description, weight: 2 },
  ],
  table: ['name', 'description'],
  tsv: ['name', 'description'],
};
