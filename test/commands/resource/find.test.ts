import { describe, expect, it } from 'vitest';
import { useTwoRuns } from '../conv/conv-world.ts';
import { errorOf } from '../conv/support.ts';

const at = useTwoRuns();
const { conv, show } = at;

describe('an id argument', () => {
  it.each([
    ['whole', () => at.first],
    ['with dashes', () => at.first.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
    ['in capitals', () => at.first.toUpperCase()],
    ['by its beginning', () => 'aaaa1'],
    ['in a URL', () => `https://acs.example/conversations/${at.first}#files`],
  ])('%s', async (_, word) => {
    expect((await show(word())).id).toBe(at.first);
  });

  it('@last is the conversation that was started last', async () => {
    expect((await show('@last')).id).toBe(at.second);
  });

  it('that is an ambiguous prefix exits 2 and lists the candidates', async () => {
    const ended = await conv('show', 'aaaa', '--json');
    expect(ended.code).toBe(2);
    expect(errorOf(ended)).toMatchObject({ code: 'usage', candidates: [at.second, at.first] });
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
    const ended = await at.world.invoke({
      args: ['conv', 'show', '@last'],
      env: { ACS_CONFIG_DIR: `${at.world.dir}/empty` },
    });
    expect(ended.code).toBe(5);
  });
});
