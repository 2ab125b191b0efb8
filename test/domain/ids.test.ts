import { describe, expect, it } from 'vitest';
import {
  dashedId,
  matchPrefix,
  normalId,
  normalizeId,
  readConversationWord,
  readSandboxWord,
} from '../../src/domain/ids.ts';

const ID = '0123456789abcdef0123456789abcdef';
const DASHED = '01234567-89ab-cdef-0123-456789abcdef';

describe('a word that is an id', () => {
  it.each([
    ['a whole id', ID, { ids: [ID], prefix: null }],
    ['one with dashes', DASHED, { ids: [ID], prefix: null }],
    ['one in capitals', ID.toUpperCase(), { ids: [ID], prefix: null }],
    ['the last conversation', '@last', 'last'],
    ['a beginning', '0123', { ids: [], prefix: '0123' }],
    ['a beginning with dashes', '01234567-89', { ids: [], prefix: '01234567-89' }],
    ['a URL', `https://acs.example/conversations/${DASHED}?tab=files`, { ids: [ID], prefix: null }],
    [
      'a URL with a name before the id',
      `https://acs.example/run-${ID}`,
      { ids: [ID], prefix: null },
    ],
  ])('%s', (_, word, read) => {
    expect(readConversationWord(word)).toEqual(read);
  });

  it.each([
    '',
    '012',
    '@first',
    'a b c d',
    '--all',
    'https://acs.example/',
    '../../etc',
    'x'.repeat(3),
    '\u001b[31mred',
  ])('is not %j', (word) => {
    expect(readConversationWord(word)).toBeNull();
  });

  it('takes the last id of a URL first', () => {
    const other = 'f'.repeat(32);
    const url = `https://acs.example/sandboxes/${other}/conversations/${ID}`;
    expect(readConversationWord(url)).toEqual({ ids: [ID, other], prefix: null });
  });

  it('finds no id inside a longer run of digits', () => {
    for (const other of [`${ID}00`, `00${ID}`]) {
      expect(readConversationWord(`https://acs.example/${other}`)).toBeNull();
      expect(normalizeId(other)).toBeNull();
    }
  });
});

describe('a word that names a sandbox', () => {
  const NAMED = 'oh-agent-server-4bXq';
  it.each([
    ['the sandbox of the last conversation', '@last', 'last'],
    ['a whole id', NAMED, { ids: [NAMED], prefix: NAMED }],
    ['an id with dashes', DASHED, { ids: [DASHED, ID], prefix: DASHED }],
    ['a prefix', 'oh-agent', { ids: [], prefix: 'oh-agent' }],
    [
      'a URL',
      `https://acs.company.example/sandboxes/${NAMED}?tab=files`,
      { ids: [NAMED], prefix: null },
    ],
    [
      'a URL with two ids',
      `https://a.example/${NAMED}/é${NAMED}é//${ID}`,
      { ids: [ID, NAMED], prefix: null },
    ],
  ])('is read as %s', (_, word, read) => {
    expect(readSandboxWord(word)).toEqual(read);
  });

  it.each(['', 'abc', 'a b c d', 'not/an id', '--all', 'https://acs.example/'])(
    'is not %j',
    (word) => {
      expect(readSandboxWord(word)).toBeNull();
    },
  );
});

describe('a beginning', () => {
  const items = [['aaaa1111'], ['aaaa2222', 'task0001'], ['bbbb', 'aaaa1']];
  const match = (prefix: string) => matchPrefix(prefix, items, (item) => item);

  it('names the only record that begins so, by any of its ids', () => {
    expect(match('aaaa2')).toEqual([items[1]]);
    expect(match('task')).toEqual([items[1]]);
  });

  it('is ambiguous when several begin so, unless it is a whole id in any notation', () => {
    expect(match('aaaa')).toEqual(items);
    expect(match('bbbb')).toEqual([items[2]]);
    expect(match('AAAA-1')).toEqual([items[2]]);
  });

  it('never names a record with an empty id', () => {
    expect(match('cccc')).toEqual([]);
    expect(matchPrefix('cccc', [['']], (item) => item)).toEqual([]);
  });
});

it('ids are converted between both forms, and other texts stay as they are', () => {
  expect(normalId('0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9')).toBe('0a1b2c3d4e5f60718293a4b5c6d7e8f9');
  expect(dashedId('0a1b2c3d4e5f60718293a4b5c6d7e8f9')).toBe('0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9');
  expect([normalId('sandbox-1'), dashedId('x'.repeat(33))]).toEqual(['sandbox-1', 'x'.repeat(33)]);
});
