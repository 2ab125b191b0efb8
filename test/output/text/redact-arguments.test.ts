import { expect, it } from 'vitest';
import { createRedactor, shownArguments } from '../../../src/base/text/redact.ts';

const { value } = createRedactor([]);
const R = '<redacted>';

it.each([
  [
    ['--token', 'VALUE'],
    ['--token', R],
  ],
  [
    ['--api-key=VALUE', '-v'],
    [`--api-key=${R}`, '-v'],
  ],
  [
    ['--auth-token', '-VALUE-'],
    ['--auth-token', R],
  ],
  [
    ['-key', 'VALUE'],
    ['-key', R],
  ],
  [
    ['run', '-e', 'GITHUB_TOKEN=VALUE', 'image'],
    ['run', '-e', `GITHUB_TOKEN=${R}`, 'image'],
  ],
  [
    ['--header', 'X-Api-Key: VALUE'],
    ['--header', `X-Api-Key: ${R}`],
  ],
  [
    ['--header', 'Authorization: Basic VALUE'],
    ['--header', `Authorization: ${R}`],
  ],
  [
    ['--token=two\nlines and blanks', 'GITHUB_TOKEN=two\nlines', 'X-Api-Key:two\nlines'],
    [`--token=${R}`, `GITHUB_TOKEN=${R}`, `X-Api-Key: ${R}`],
  ],
  [
    ['--password=', 'VALUE'],
    ['--password=', 'VALUE'],
  ],
  [
    ['--token', '', 'x'],
    ['--token', R, 'x'],
  ],
  [
    ['--max-tokens', '4096', '--max-tokens=512'],
    ['--max-tokens', '4096', '--max-tokens=512'],
  ],
  [
    ['--no-token', 'a', '--page-token', 'b'],
    ['--no-token', 'a', '--page-token', 'b'],
  ],
  [
    ['--url', 'https://me:VALUE@host/'],
    ['--url', `https://${R}@host/`],
  ],
  [
    ['token', 'VALUE', 7, null, { a: 1 }],
    ['token', 'VALUE', 7, null, { a: 1 }],
  ],
])('the arguments %j are shown as %j', (given, shown) => {
  expect(value({ args: given })).toEqual({ args: shown });
});

it.each([
  [['token=VALUE'], [`token=${R}`]],
  [['client.secret=a=b\nc'], [`client.secret=${R}`]],
  [
    ['token=', '=token', 'the token=VALUE'],
    [null, null, null],
  ],
  [['api-key: VALUE'], [`api-key: ${R}`]],
  [['password:VALUE\nmore'], [`password: ${R}`]],
  [
    ['an api-key: VALUE', 'api-key:'],
    [null, null],
  ],
  [
    ['--input-tokens=12', '--input-tokens=12a', '--input-tokens=a12'],
    [null, `--input-tokens=${R}`, `--input-tokens=${R}`],
  ],
  [
    ['--auth-mode', 'none', 'a--token', 'x'],
    [null, null, null, null],
  ],
  [
    ['--token', 7, 'x'],
    [null, null, null],
  ],
])('the arguments alone of %j are replaced by %j', (given, shown) => {
  expect(shownArguments(given)).toEqual(shown);
});

it('the value of a flag is replaced in a list that has more than text', () => {
  expect(value(['--token', 'VALUE', 7])).toEqual(['--token', R, 7]);
});

it('very long arguments that name no secret are kept', () => {
  const long = `--${'a-'.repeat(100_000)}`;
  expect(shownArguments([long, `${long}=`, `${'A'.repeat(100_000)}=x`])).toEqual([
    null,
    null,
    null,
  ]);
});
