import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';
import { useWizardWorld } from './wizard-world.ts';

const at = useWizardWorld();
const { onTerminal } = at;

describe('conv new without a message and without a model, on a terminal', () => {
  let bare: World;
  beforeAll(async () => {
    bare = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => bare.close());

  it('offers the demo before the first question and starts it', async () => {
    const asked = await onTerminal(at.repository, ['-y', '--wait'], ['demo', 'none', 'process'], bare);
    expect(asked.questions[0]).toContain('[the demo | a replay file | a conversation on another server]');
    expect(asked.code, asked.err).toBe(0);
  });

  it('takes a replay file and repeats the question for an unusable one', async () => {
    const file = path.join(bare.dir, 'run.json');
    await writeFile(file, '[{"action":"finish","args":{"final_thought":"done"}}]');
    const asked = await onTerminal(
      at.repository,
      ['-y', '--wait'],
      ['replay', 'nowhere.json', file, 'none', 'process'],
      bare,
    );
    expect(asked.questions[2]).toContain('cannot read nowhere.json');
    expect(asked.code, asked.err).toBe(0);
  });

  it('uses the server of a profile', async () => {
    const machine = { ...bare, env: { ...bare.env, ACS_API_KEY: undefined, ACS_BASE_URL: undefined } };
    await bare.invoke({
      args: ['profile', 'add', 'work', '--base-url', at.world.service.url, '--api-key-file', '-'],
      stdin: at.world.service.key,
    });
    const asked = await onTerminal(
      at.repository,
      [
        '--base-url',
        bare.service.url,
        '--api-key-file',
        path.join(bare.dataDir, 'key'),
        '--spec',
        'process',
        '--dry-run',
        '-y',
      ],
      ['profile', 'work', 'none', 'Do it'],
      machine,
    );
    expect(asked.questions.slice(1)).toEqual(['Server [work]', expect.any(String), expect.any(String)]);
    expect({ code: asked.code, out: asked.out }, asked.err).toEqual({
      code: 0,
      out: expect.stringContaining(at.world.service.url) as string,
    });
  });

  it('exits 3 with the next step when no profile is stored', async () => {
    const machine = { ...bare, env: { ...bare.env, ACS_CONFIG_DIR: path.join(bare.dir, 'nothing') } };
    const asked = await onTerminal(at.repository, [], ['profile'], machine);
    expect(asked).toMatchObject({ code: 3, err: expect.stringContaining('acs profile add') as string });
  });
});
