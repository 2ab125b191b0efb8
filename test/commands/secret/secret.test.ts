import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import type { BulkResult } from '../../../src/output/options.ts';

const VALUE = 'value-of-a-secret-4711';

function json<T>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

interface SecretJson {
  name: string;
  description: string | null;
  changed?: boolean;
}

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const secret = (...args: string[]): Promise<Ended> => world.acs('secret', ...args);
  const fromStdin = (name: string, value: string, ...flags: string[]) =>
    world.invoke({ args: ['secret', 'set', name, '-', ...flags], stdin: value });
  const all = async () =>
    json<{ items: SecretJson[] }>(await secret('list', '--all-pages', '--json')).items.map(({ name }) => name);

  it('lists nothing at first', async () => {
    expect(json(await secret('list', '--json'))).toEqual({ items: [], has_more: false });
  });

  it('takes a value from stdin, a file and the environment, and shows it nowhere', async () => {
    await writeFile(path.join(world.dir, 'value.txt'), `${VALUE}\n`);
    const env = { MY_VALUE: VALUE };
    const ended = [
      await fromStdin('FROM_STDIN', `${VALUE}\n`, '--json', '--debug'),
      await secret('set', 'FROM_FILE', '@value.txt', '--description', 'of a file', '--json'),
      await secret('set', 'FROM_FILE_TOO=@value.txt'),
      await world.invoke({ args: ['secret', 'set', 'FROM_ENV', '--from-env', 'MY_VALUE', '--json'], env }),
    ];
    for (const { code, out, err } of ended) {
      expect(code, err).toBe(0);
      expect(out + err).not.toContain(VALUE);
    }
    expect(json(ended[1] as Ended)).toEqual({ name: 'FROM_FILE', description: 'of a file', changed: true });
    expect(await all()).toEqual(['FROM_ENV', 'FROM_FILE', 'FROM_FILE_TOO', 'FROM_STDIN']);
  });

  it('gives the value to the commands of a conversation, whole and without its line end', async () => {
    await fromStdin('GIVEN', `two\nlines-of-it\n`);
    const file = path.join(world.dir, 'replay.json');
    const seen = path.join(world.dir, 'seen');
    const command = `printf '%s' "$GIVEN" > ${seen}`;
    await writeFile(
      file,
      JSON.stringify([
        { action: 'run', args: { command } },
        { action: 'finish', args: { final_thought: 'done' } },
      ]),
    );
    expect((await world.acs('conv', 'new', '--no-repo', '--replay', file, '--wait')).code).toBe(0);
    expect(await readFile(seen, 'utf8')).toBe('two\nlines-of-it');
  });

  it('gives another value to one that exists, keeps its description, and says how', async () => {
    await fromStdin('AGAIN', 'first-value', '--description', 'kept');
    const again = await fromStdin('AGAIN', 'second-value', '--json');
    expect(again.code).toBe(0);
    expect(json(again)).toEqual({ name: 'AGAIN', description: 'kept', changed: true });
    expect(again.err).toContain('AGAIN existed; its value was replaced');
    const other = await fromStdin('AGAIN', 'third-value', '--description', 'another', '--json');
    expect(json(other)).toMatchObject({ description: 'another' });
  });

  it('deletes, after a yes, and once', async () => {
    await fromStdin('GONE', VALUE);
    expect((await secret('delete', 'GONE')).code).toBe(2);
    expect(json(await secret('delete', 'GONE', '-y', '--json'))).toMatchObject({ name: 'GONE', changed: true });
    expect((await secret('rm', 'GONE', '-y')).code).toBe(5);
    expect(json(await secret('delete', 'GONE', '-y', '--ignore-not-found', '--json'))).toMatchObject({
      changed: false,
    });
  });

  it('deletes several, and says which it could not', async () => {
    await fromStdin('ONE', VALUE);
    await fromStdin('TWO', VALUE);
    const many = await world.invoke({ args: ['secret', 'delete', '-', '-y', '--json'], stdin: 'ONE\nTWO NOT_THERE\n' });
    expect(many.code).toBe(1);
    expect(json<BulkResult>(many)).toMatchObject({ matched: 3, failed: 1 });
    expect(await all()).not.toContain('ONE');
  });

  it('sends nothing in a dry run, and shows no value there', async () => {
    await fromStdin('DRY', 'first-value');
    const dry = await fromStdin('DRY', VALUE, '--dry-run', '--json');
    expect(dry.code).toBe(0);
    const { requests } = json<{ requests: { method: string; body: { value?: string } }[] }>(dry);
    expect(requests.map(({ method }) => method)).toEqual(api === 'v0' ? ['DELETE', 'POST'] : ['POST']);
    expect(dry.out + dry.err).not.toContain(VALUE);
    expect(await all()).toContain('DRY');
  });

  it('looks a name up in a dry run, too', async () => {
    await fromStdin('DRY', VALUE);
    const known = await secret('delete', 'DRY', '--dry-run', '--json');
    expect(json<{ requests: { method: string }[] }>(known).requests).toMatchObject([{ method: 'DELETE' }]);
    expect((await secret('delete', 'NOT_THERE', '--dry-run')).code).toBe(5);
    const ignored = await secret('delete', 'NOT_THERE', '--ignore-not-found', '--dry-run', '--json');
    expect(json(ignored)).toEqual({ dry_run: true, requests: [] });
    expect(await all()).toContain('DRY');
  });

  it('lists as many as were asked for', async () => {
    for (const name of ['LIST_A', 'LIST_B', 'LIST_C']) await fromStdin(name, VALUE);
    const two = await secret('list', '-L', '2', '--json');
    expect(json(two)).toMatchObject({ items: [{}, {}], has_more: true });
    const ids = (await secret('list', '--all-pages', '-q')).out.trim().split('\n');
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).toEqual(expect.arrayContaining(['LIST_A', 'LIST_B', 'LIST_C']));
  });
});

describe('secret set', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());

  it.each([
    ['a value in the open', ['NAME', VALUE]],
    ['a value after a sign', [`NAME=${VALUE}`]],
    ['no value where nobody can be asked', ['NAME']],
    ['a value twice', ['NAME', '-', '--from-env', 'HOME']],
    ['a variable that is not there', ['NAME', '--from-env', 'NOT_SET_ANYWHERE']],
    ['a name that is none', ['1-NAME', '--from-env', 'HOME']],
    ['an empty value', ['NAME', '--from-env', 'EMPTY']],
    ['a file without a name', ['NAME', '@']],
  ])('refuses %s, before any request', async (_what, args) => {
    const proxy = await recordingProxy(world.service.url);
    const env = { ACS_BASE_URL: proxy.url, EMPTY: '' };
    const { code, out, err } = await world.invoke({ args: ['secret', 'set', ...args], env });
    await proxy.close();
    expect(code).toBe(2);
    expect(out + err).not.toContain(VALUE);
    expect(proxy.requests).toEqual([]);
  });

  it('reads no file that is not there', async () => {
    expect((await world.acs('secret', 'set', 'NAME', '@not-there')).code).toBe(3);
  });
});
