import { expect, test } from 'vitest';
import { paletteFor, takesColors } from '../../src/terminal/palette.ts';

interface Question {
  isTTY: boolean;
  env: Record<string, string>;
  color: 'auto' | 'never';
}

test.each<[string, Question, boolean]>([
  ['a terminal', { isTTY: true, env: {}, color: 'auto' }, true],
  ['a pipe', { isTTY: false, env: {}, color: 'auto' }, false],
  ['--no-color', { isTTY: true, env: { FORCE_COLOR: '1' }, color: 'never' }, false],
  ['NO_COLOR', { isTTY: true, env: { NO_COLOR: '1' }, color: 'auto' }, false],
  ['an empty NO_COLOR', { isTTY: true, env: { NO_COLOR: '' }, color: 'auto' }, true],
  ['FORCE_COLOR on a pipe', { isTTY: false, env: { FORCE_COLOR: '1' }, color: 'auto' }, true],
  [
    'FORCE_COLOR over NO_COLOR',
    { isTTY: false, env: { FORCE_COLOR: '1', NO_COLOR: '1' }, color: 'auto' },
    true,
  ],
  ['FORCE_COLOR=0', { isTTY: true, env: { FORCE_COLOR: '0' }, color: 'auto' }, false],
  ['a dumb terminal', { isTTY: true, env: { TERM: 'dumb' }, color: 'auto' }, false],
])('%s', async (_, question, takes) => {
  const { env, color } = question;
  expect(takesColors(question, env, color)).toBe(takes);
  expect((await paletteFor(question, env, color)).bad('x')).toBe(takes ? '\x1b[31mx\x1b[39m' : 'x');
});
