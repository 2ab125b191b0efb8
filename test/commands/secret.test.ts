import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { useWorld, type Ending } from '../support/use-world.ts';

const VALUE = 'value-of-a-secret-4711';
const clock = () => new TestClock({ movedBy: 'sleeps', startMs: Date.now() });

describe.each(['v1', 'v0', 'both'] as const)('secret over %s', (api) => {
  const at = useWorld({ api, spec: 'process', noun: 'secret', clock });
  const set = (words: string, ending: Ending = {}, stdin = VALUE) =>
    at.ends(`set ${words}`, { stdin, ...ending });
  const names = async () => (await at.ends('list --all-pages -q', {})).out.trim().split('\n');

  it('list prints an empty list without secrets', async () => {
    expect(await at.json('list')).toEqual({ items: [], has_more: false });
  });

  it('set reads a value from stdin, a file and the environment, and prints it nowhere', async () => {
    await at.file('value.txt', `${VALUE}\n`);
    await set('FROM_STDIN - --json --debug', { hides: VALUE });
    const out = { name: 'FROM_FILE', description: 'file', changed: true };
    await at.ends('set FROM_FILE @value.txt --description file --json', { out, hides: VALUE });
    await at.ends('set FROM_FILE_TOO=@value.txt', { hides: VALUE });
    await at.ends('set FROM_ENV --from-env MY_VALUE --json', {
      env: { MY_VALUE: VALUE },
      hides: VALUE,
    });
    expect(await names()).toEqual(['FROM_ENV', 'FROM_FILE', 'FROM_FILE_TOO', 'FROM_STDIN']);
    await at.ends('list -L 2 --json', { out: { items: [{}, {}], has_more: true } });
  });

  it('set replaces the value of an existing secret, keeps its description, and prints a notice', async () => {
    await set('AGAIN - --description kept');
    const out = { name: 'AGAIN', description: 'kept', changed: true };
    await set('AGAIN - --json', { out, err: 'AGAIN existed; its value was replaced' });
    await set('AGAIN - --description another --json', { out: { description: 'another' } });
  });

  it.each(['1', 'test', 'not-needed'])(
    'set warns of the value %s, which is not masked in text',
    async (value) => {
      await at.file('value.txt', value);
      const warning =
        'the value of WORD cannot be distinguished from ordinary words, so it is not masked ' +
        'in text';
      await at.ends('set WORD @value.txt', { err: `warning: ${warning}` });
      await at.ends('set WORD @value.txt --json', {
        err: JSON.stringify({ notice: warning, level: 'warning' }),
      });
      expect((await set('OTHER -')).err).not.toContain('ordinary words');
    },
  );

  it('set --dry-run sends nothing and prints no value', async () => {
    await set('DRY -');
    at.server.asked.length = 0;
    const requests = [{ method: api === 'v0' ? 'DELETE' : 'POST' }];
    await set('DRY - --dry-run --json', { out: { requests }, hides: VALUE, writes: [] });
  });

  it('delete needs -y, and exits 5 the second time', async () => {
    await set('GONE -');
    await at.ends('delete GONE', { code: 2 });
    await at.ends('delete GONE -y --json', { out: { name: 'GONE', changed: true } });
    await at.ends('rm GONE -y', { code: 5 });
    await at.ends('delete GONE -y --ignore-not-found --json', { out: { changed: false } });
  });

  it('delete of several lists those that failed', async () => {
    await set('ONE -');
    await set('TWO -');
    const stdin = 'ONE\nTWO NOT_THERE\n';
    await at.ends('delete - -y --json', { stdin, code: 1, out: { matched: 3, failed: 1 } });
    expect(await names()).not.toContain('ONE');
  });

  it('delete --dry-run exits 5 for an unknown name', async () => {
    await set('DRY -');
    await at.ends('delete DRY --dry-run --json', { out: { requests: [{ method: 'DELETE' }] } });
    await at.ends('delete NOT_THERE --dry-run', { code: 5 });
    await at.ends(['delete', '', '--dry-run'], { code: 2 });
    await at.ends('delete NOT_THERE --ignore-not-found --dry-run --json', {
      out: { dry_run: true, requests: [] },
    });
    expect(await names()).toContain('DRY');
  });
});

describe('secret', () => {
  const at = useWorld({ spec: 'process', noun: 'secret' });

  it('is in the environment of commands, whole and without its line end', async () => {
    await at.ends('set GIVEN -', { stdin: 'two\nlines-of-it\n' });
    const seen = path.join(at.dir, 'seen');
    await at.file('replay.json', [
      { action: 'run', args: { command: `printf '%s' "$GIVEN" > ${seen}` } },
      { action: 'finish', args: { final_thought: 'done' } },
    ]);
    for (const dialect of ['v1', 'v0']) {
      const start = [
        'conv',
        'new',
        '--no-repo',
        '--replay',
        'replay.json',
        '--wait',
        '--api',
        dialect,
      ];
      expect((await at.world.acs(...start)).code).toBe(0);
      expect(await readFile(seen, 'utf8')).toBe('two\nlines-of-it');
    }
  });

  it.each([
    ['a value in the open', `NAME ${VALUE}`],
    ['a value after a sign', `NAME=${VALUE}`],
    ['no value where nobody can be asked', 'NAME'],
    ['a value twice', 'NAME - --from-env HOME'],
    ['a variable that is not set', 'NAME --from-env NOT_SET_ANYWHERE'],
    ['a malformed name', '1-NAME --from-env HOME'],
    ['an empty value', 'NAME --from-env EMPTY'],
    ['a file without a name', 'NAME @'],
  ])('set exits 2 for %s, before any request', async (_, line) => {
    await at.ends(`set ${line}`, { code: 2, env: { EMPTY: '' }, hides: VALUE, requests: 0 });
  });

  it('set exits 3 for a missing file', () => at.ends('set NAME @not-there', { code: 3 }));
});
