import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';

describe('settings edit', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());

  /** Edits with a program that is handed the file; its text is a function of the file's text and how often it ran. */
  const edit = async (change: string, stdin?: string): Promise<Ended> => {
    const program = path.join(world.dir, 'editor.mjs');
    const counter = JSON.stringify(path.join(world.dir, `count-${change.length}`));
    await writeFile(
      program,
      `import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
       appendFileSync(${counter}, 'x');
       const time = readFileSync(${counter}, 'utf8').length;
       const text = readFileSync(process.argv[2], 'utf8');
       writeFileSync(process.argv[2], ((text, time) => ${change})(text, time));`,
    );
    return await world.invoke({
      args: ['settings', 'edit', '--json'],
      columns: 100,
      ...(stdin === undefined ? {} : { stdin }),
      env: { EDITOR: `${process.execPath} ${program}`, VISUAL: '' },
    });
  };

  it('writes what was changed in the file', async () => {
    const { code, out, err } = await edit(`text.replace('"max_iterations": 500', '"max_iterations": 21')`);
    expect({ code, changed: err.includes('max_iterations: 500 -> 21') }).toEqual({ code: 0, changed: true });
    expect(JSON.parse(out)).toMatchObject({ max_iterations: 21, changed: true });
  });

  it('writes nothing when the file is saved as it was', async () => {
    const { code, out, err } = await edit('text');
    expect({ code, notice: err.includes('nothing to change') }).toEqual({ code: 0, notice: true });
    expect(JSON.parse(out)).toMatchObject({ changed: false });
  });

  it('does not change a setting whose line was removed', async () => {
    const { code, out } = await edit(`JSON.stringify({ language: 'de' }) + text.slice(0, 0)`);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ language: 'de', max_iterations: 21, changed: true });
  });

  it('shows no secret in the file', async () => {
    await world.invoke({ args: ['settings', 'set', 'llm_api_key=-'], stdin: 'hidden-model-key' });
    const { code } = await edit(`/api_key":|secret|hidden-model-key/.test(text) ? 'seen' : text`);
    expect(code).toBe(0);
  });

  it('opens the editor again after a mistake', async () => {
    const { code, out, err } = await edit(
      `time === 1 ? text.replace('"max_iterations": 21', '"max_iterations": "x"') : text.replace('"x"', '34')`,
      '\n',
    );
    expect(err).toContain('max_iterations: must be a whole number');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ max_iterations: 34, changed: true });
  });

  it('exits 2 and writes nothing when the mistake remains', async () => {
    const { code, err } = await edit(`'{ no JSON'`, 'n\n');
    expect({ code, said: err.includes('nothing was changed') }).toEqual({ code: 2, said: true });
  });
});

describe('settings set with a bare secret', () => {
  it('asks for it on a terminal and exits 2 off one', async () => {
    const world = await createWorld({ api: 'v1', spec: 'process' });
    try {
      const args = ['settings', 'set', 'llm_api_key', '--no-color'];
      const { code, out, err } = await world.invoke({ args, columns: 100, stdin: 'typed-model-key\n' });
      expect({ code, out }).toEqual({ code: 0, out: 'NAME         VALUE\nllm_api_key  (set)\n' });
      expect(err).toContain('llm_api_key: (unset) -> (set)');
      expect(err).not.toContain('typed-model-key');
      expect((await world.invoke({ args })).code).toBe(2);
      expect((await world.acs('settings', 'set', 'llm_model')).code).toBe(2);
    } finally {
      await world.close();
    }
  });
});
