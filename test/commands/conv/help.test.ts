import { describe, expect, it } from 'vitest';
import { invoke } from '../../support/world.ts';

const VERBS = [
  'new',
  'list',
  'show',
  'follow',
  'events',
  'wait',
  'result',
  'send',
  'confirm',
  'stop',
  'resume',
  'diff',
  'export',
  'open',
  'pull',
  'rename',
  'delete',
];

const help = async (...words: string[]): Promise<string> => {
  const { code, out, err } = await invoke({ args: [...words, '--help'], cwd: '/' });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};

/** What users read; a change of it shows in review, and `vitest run … --update` takes it over. */
describe('the help of', () => {
  it('conv', async () => {
    await expect(await help('conv')).toMatchFileSnapshot('help/conv.txt');
  });

  it.each(VERBS)('conv %s', async (verb) => {
    await expect(await help('conv', verb)).toMatchFileSnapshot(`help/${verb}.txt`);
  });

  it.each([
    ['create', 'new'],
    ['ls', 'list'],
    ['view', 'show'],
    ['get', 'show'],
    ['logs', 'events'],
    ['rm', 'delete'],
    ['remove', 'delete'],
  ])('conv %s is that of %s', async (alias, verb) => {
    expect(await help('conversation', alias)).toBe(await help('conv', verb));
  });
});
