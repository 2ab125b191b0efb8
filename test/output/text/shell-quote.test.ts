import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellQuote } from '../../../src/base/text/shell-quote.ts';

it.each([
  '',
  'plain',
  "it's",
  "'",
  "''",
  '$HOME `id` $(id)',
  'a\\b',
  'two\nlines',
  '*',
  '-n',
  'ümläut 名',
  '"',
])('a shell takes %j literally', (text) => {
  expect(execFileSync('sh', ['-c', `printf %s ${shellQuote(text)}`], { encoding: 'utf8' })).toBe(
    text,
  );
});
