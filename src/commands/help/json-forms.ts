/** The forms of JSON output, for help: the noun of a view stands for its members, which `acs help output` lists. */
import { bulkShape } from '../../output/bulk.ts';
import type { JsonForms } from '../declare.ts';

export const JSON_FORMS: JsonForms = {
  objectForm({ noun }, ...members) {
    const more = members.map((name) => `"${name}"`).join(', ');
    return more === '' ? `<${noun}>` : `<${noun}> plus ${more}`;
  },
  listForm: (...shapes) => `{"items":[${shapes.map(({ noun }) => `<${noun}>`).join(' or ')},…],"has_more":false}`,
  changeForms: (shape, [one, several] = ['one id', 'several ids, or selectors']) => [
    [one, JSON_FORMS.objectForm(shape, 'changed')],
    [several, JSON_FORMS.objectForm(bulkShape)],
  ],
};
