import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import { endedRun, errorOf, json } from '../conv/support.ts';

let world: World;
let first: string;
let second: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  first = await endedRun(world, '--title', 'The first', '--id', `aaaa${'1'.repeat(28)}`);
  second = await endedRun(world, '--title', 'The second\nof two', '--id', `aaaa${'2'.repeat(28)}`);
});
afterAll(() => world.close());

const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
const show = async (word: string) => json(await conv('show', word, '--json'));

describe('an id argument', () => {
  it.each([
    ['whole', () => first],
    ['with dashes', () => first.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
    ['in capitals', () => first.toUpperCase()],
    ['by its beginning', () => 'aaaa1'],
    ['in a URL', () => `https://acs.example/conversations/${first}#files`],
  ])('%s', async (_, word) => {
    expect((await show(word())).id).toBe(first);
  });

  it('@last is the conversation that was started last', async () => {
    expect((await show('@last')).id).toBe(second);
  });

  it('that is an ambiguous prefix exits 2 and lists the candidates', async () => {
    const ended = await conv('show', 'aaaa', '--json');
    expect(ended.code).toBe(2);
    expect(errorOf(ended)).toMatchObject({ code: 'usage', candidates: [second, first] });
  });

  it('that matches nothing exits 5 and names the server', async () => {
    const ended = await conv('show', 'bbbb', '--json');
    expect(ended.code).toBe(5);
    expect(errorOf(ended).hint).toContain('1000');
  });

  it('that is unknown exits 5', async () => {
    expect((await conv('show', 'f'.repeat(32))).code).toBe(5);
  });

  it.each(['abc', 'a b', 'https://acs.example/'])('%j is refused as malformed', async (word) => {
    for (const verb of ['show', 'follow', 'wait', 'events', 'result', 'diff', 'stop']) {
      expect((await conv(verb, word)).code, verb).toBe(2);
    }
  });

  it('@last exits 5 when nothing was started', async () => {
    const ended = await world.invoke({
      args: ['conv', 'show', '@last'],
      env: { ACS_CONFIG_DIR: `${world.dir}/empty` },
    });
    expect(ended.code).toBe(5);
  });
});
