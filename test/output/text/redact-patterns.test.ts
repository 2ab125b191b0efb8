/** Looking only where something may be found must find what looking everywhere finds. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createRedactor, RULES } from '../../../src/base/text/redact.ts';

const KEY = 'kQ7+zR/9x-key-of-this-test';
const { text, value } = createRedactor([KEY]);

/** Every rule on every text. */
const plainText = (given: string): string =>
  RULES.reduce(
    (result, { pattern, replacement }) => result.replace(pattern, replacement as string),
    given.replaceAll(KEY, '<redacted>'),
  );

/** What genuine servers answered. */
const bodies = ['1.11.0', '1.6.0'].flatMap((release) => {
  const file = path.join(
    import.meta.dirname,
    '..',
    '..',
    'fixtures',
    'recordings',
    `exchanges-${release}.jsonl`,
  );
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) =>
    JSON.stringify((JSON.parse(line) as { response: { body: unknown } }).response.body),
  );
});

const PLANTED = [
  KEY,
  'git clone https://user:t0ken@host.example/o/r',
  'wss://h/s?session_api_key=s3cret&x=1',
  '{"llm_api_key": "a\\"b", "n": 1}',
  "{'password': 'hunter2'}",
  'Authorization: Bearer abc.def',
  'sent bearer eaf3b1c0d2e4f5',
  'X-Session-API-Key: abc',
  'Set-Cookie: a=1',
  'export LLM_API_KEY="abc def"',
  'serve --api-key abc123',
  'GHP_0123456789abcdefghij ghp_0123456789abcdefghij gho_0123456789abcdefghij ' +
    'ghr_0123456789abcdefghij',
  'sk-proj-0123456789abcdefghij',
  'eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4',
  '-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----',
  'https://h/?sig=abc%2F&se=1',
  'a \u212aey=1, \u0130 and an ordinary sentence of right length',
];

it('the redaction of answers of genuine servers equals that of every rule, also with a secret inserted at any place', () => {
  expect(bodies.length).toBeGreaterThan(100);
  for (const [index, body] of bodies.entries()) {
    const at = (index * 7_919) % (body.length + 1);
    const planted =
      `${body.slice(0, at)} ${PLANTED[index % PLANTED.length] ?? ''} ` + `${body.slice(at)}`;
    for (const each of [body, planted, JSON.stringify(planted)])
      expect(text(each)).toBe(plainText(each));
  }
});

it('does not depend on the names in the first documents', () => {
  value(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`name_${index}`, 'x'])));
  expect(value({ new_api_key: 'a', other: 'b' })).toEqual({
    new_api_key: '<redacted>',
    other: 'b',
  });
});
