import type { LinePart, View } from '../../output/view.ts';
import type { Result } from './check.ts';

/** A symbol besides the word, which stands there for readers without colours and for screen readers. */
const MARKS = {
  pass: { text: '✓ pass', tone: 'good' },
  warn: { text: '! warn', tone: 'warn' },
  fail: { text: '✗ fail', tone: 'bad' },
  skip: { text: '- skip', tone: 'dim' },
} as const satisfies Record<Result['status'], LinePart>;

const ID_WIDTH = 'local-service'.length;

export const checkView: View<Result> = {
  noun: 'check',
  id: ({ id }) => id,
  fields: [
    { name: 'id', get: ({ id }) => id, weight: 0 },
    { name: 'status', get: ({ status }) => status },
    { name: 'text', get: ({ text }) => text, weight: 2 },
    { name: 'hint', get: ({ hint }) => hint },
    { name: 'data', get: ({ data }) => data, as: 'json', weight: 0 },
  ],
  table: ['id', 'status', 'text', 'hint'],
  tsv: ['id', 'status', 'text', 'hint'],
  line: ({ id, status, text, hint }) => [
    MARKS[status],
    { text: `  ${id.padEnd(ID_WIDTH)}  ` },
    status === 'skip' ? { text, tone: 'dim' } : { text },
    ...(hint === null ? [] : [{ text: `\nnext: ${hint}` }]),
  ],
  lineIndent: MARKS.pass.text.length + ID_WIDTH + 4,
};
