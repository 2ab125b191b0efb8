import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { createRedactor } from '../../src/base/text/redact.ts';
import { errorText } from '../../src/output/render.ts';
import { noticeLine, warningLine } from '../../src/base/text/notice.ts';

const error = new AppError('not-found', 'no conversation "abc\u202e"\nerror: forged', {
  hint: 'see: acs conv list',
  status: 404,
  request: { method: 'GET', url: 'https://host.example/api' },
  data: { candidates: [] },
});

test('plain lines are safe, and further lines of a text cannot look like lines of acs', () => {
  expect(errorText(error, undefined)).toBe(
    'error: no conversation "abc\\u202e"\n  error: forged\n  request: GET ' +
      'https://host.example/api\n  see: acs conv list\n',
  );
  expect(noticeLine('started \x1b[2J', 'table')).toBe('started \\x1b[2J\n');
  expect(warningLine('careful', 'tsv')).toBe('warning: careful\n');
});

test.each(['json', 'ndjson'] as const)('with %s each is one JSON object on one line', (format) => {
  const line = errorText(error, format);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  expect(line).toContain('\\u202e');
  expect(JSON.parse(line)).toEqual({
    error: {
      code: 'not-found',
      message: 'no conversation "abc\u202e"\nerror: forged',
      hint: 'see: acs conv list',
      status: 404,
      request: { method: 'GET', url: 'https://host.example/api' },
      retryable: false,
      candidates: [],
    },
  });
  expect(noticeLine('a\nb\u009b', format)).toBe('{"notice":"a\\nb\\u009b"}\n');
  expect(JSON.parse(warningLine('careful', format))).toEqual({
    notice: 'careful',
    level: 'warning',
  });
});

test('an error without details has all members too', () => {
  expect(JSON.parse(errorText(new AppError('internal', 'x'), 'json'))).toEqual({
    error: {
      code: 'internal',
      message: 'x',
      hint: null,
      status: null,
      request: null,
      retryable: false,
    },
  });
});

test('secrets in an error are redacted before it becomes JSON, which stays valid', () => {
  const { text } = createRedactor([]);
  const leaky = new AppError('server', "the server said {'token': 'abc", {
    data: { url: 'https://u:p@h/' },
  });
  expect(JSON.parse(errorText(leaky, 'json', { redact: text }))).toMatchObject({
    error: {
      code: 'server',
      message: "the server said {'token': '<redacted>'",
      url: 'https://<redacted>@h/',
    },
  });
  expect(errorText(leaky, undefined, { redact: text })).not.toContain('abc');
});

test('an error at a terminal is broken at words, except in addresses and ids, and no part looks like a line of acs', async () => {
  const id = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
  const error = new AppError(
    'conflict',
    `conversation ${id} is running at https://acs.example/some/long/path\nerror: no`,
    {
      hint: `wait for it: acs conv wait ${id}, or stop it first`,
    },
  );
  expect(errorText(error, undefined, { columns: 40 })).toBe(
    [
      'error: conversation',
      `  ${id} is`,
      '  running at',
      '  https://acs.example/some/long/path',
      '  error: no',
      '  wait for it: acs conv wait',
      `  ${id}, or`,
      '  stop it first',
      '',
    ].join('\n'),
  );
});

test('a notice and a warning at a terminal are broken at words', () => {
  expect(
    noticeLine(
      'the server paused another sandbox to make room: 0a1b2c3d4e5f60718293',
      undefined,
      32,
    ),
  ).toBe('the server paused another\n  sandbox to make room:\n  0a1b2c3d4e5f60718293\n');
  expect(warningLine('one two three four five', undefined, undefined, 20)).toBe(
    'warning: one two\n  three four five\n',
  );
  expect(noticeLine('🙂 one 🙂 two 🙂 three 🙂 four 🙂 five', undefined, 24)).toBe(
    '🙂 one 🙂 two 🙂 three\n  🙂 four 🙂 five\n',
  );
  expect(noticeLine('é̂ne mène mò, ça va très bien', undefined, 20)).toBe(
    'é̂ne mène mò, ça va\n  très bien\n',
  );
  expect(noticeLine('one two three four five six seven', undefined)).toBe(
    'one two three four five six seven\n',
  );
});
