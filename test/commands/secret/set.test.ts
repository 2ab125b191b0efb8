import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordingProxy } from '../../support/recording-proxy.ts';
import { json, useSecrets, VALUE } from './support.ts';

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  const at = useSecrets(api);
  const { fromStdin, all } = at;

  it('sets the whole value in the environment of commands, without its line end', async () => {
    await fromStdin('GIVEN', `two\nlines-of-it\n`);
    const file = path.join(at.world.dir, 'replay.json');
    const seen = path.join(at.world.dir, 'seen');
    const command = `printf '%s' "$GIVEN" > ${seen}`;
    await writeFile(
      file,
      JSON.stringify([
        { action: 'run', args: { command } },
        { action: 'finish', args: { final_thought: 'done' } },
      ]),
    );
    expect((await at.world.acs('conv', 'new', '--no-repo', '--replay', file, '--wait')).code).toBe(0);
    expect(await readFile(seen, 'utf8')).toBe('two\nlines-of-it');
  });

  it('replaces the value of an existing secret, keeps its description, and prints a notice', async () => {
    await fromStdin('AGAIN', 'first-value', '--description', 'kept');
    const again = await fromStdin('AGAIN', 'second-value', '--json');
    expect(again.code).toBe(0);
    expect(json(again)).toEqual({ name: 'AGAIN', description: 'kept', changed: true });
    expect(again.err).toContain('AGAIN existed; its value was replaced');
    const other = await fromStdin('AGAIN', 'third-value', '--description', 'another', '--json');
    expect(json(other)).toMatchObject({ description: 'another' });
  });

  it('--dry-run sends nothing and prints no value', async () => {
    await fromStdin('DRY', 'first-value');
    const dry = await fromStdin('DRY', VALUE, '--dry-run', '--json');
    expect(dry.code).toBe(0);
    const { requests } = json<{ requests: { method: string; body: { value?: string } }[] }>(dry);
    expect(requests.map(({ method }) => method)).toEqual(api === 'v0' ? ['DELETE', 'POST'] : ['POST']);
    expect(dry.out + dry.err).not.toContain(VALUE);
    expect(await all()).toContain('DRY');
  });
});

describe('secret set', () => {
  const at = useSecrets('v1');

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
    const proxy = await recordingProxy(at.world.service.url);
    const env = { ACS_BASE_URL: proxy.url, EMPTY: '' };
    const { code, out, err } = await at.world.invoke({ args: ['secret', 'set', ...args], env });
    await proxy.close();
    expect(code).toBe(2);
    expect(out + err).not.toContain(VALUE);
    expect(proxy.requests).toEqual([]);
  });

  it('exits 3 for a missing file', async () => {
    expect((await at.world.acs('secret', 'set', 'NAME', '@not-there')).code).toBe(3);
  });
});
