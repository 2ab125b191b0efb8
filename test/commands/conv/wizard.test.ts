import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../src/cli.ts';
import { clockFrom } from '../../../src/clock.ts';
import type { OutputStream } from '../../../src/context.ts';
import type { Prompt } from '../../../src/terminal/prompt.ts';
import { createContext } from '../../../src/wire.ts';
import { createWorld, PACKAGE_ROOT, type World } from '../../support/world.ts';
import { json, makeRepository, type ConversationJson } from './support.ts';

let world: World;
let repository: string;

beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
  // The wizard asks for a message, and a message needs a model: this one only has to be set, nobody reaches it.
  for (const setting of ['llm_model=openai/none', 'llm_base_url=http://127.0.0.1:9/v1'])
    await world.acs('settings', 'set', setting);
  repository = await makeRepository(path.join(world.dir, 'repository'));
});
afterAll(() => world.close());

interface Asked {
  code: number;
  out: string;
  err: string;
  questions: string[];
}

/** Runs acs on a terminal whose person gives these answers, one to each question. */
async function onTerminal(
  cwd: string,
  args: string[],
  answers: (string | boolean)[],
  at: Pick<World, 'env' | 'home'> = world,
): Promise<Asked> {
  const questions: string[] = [];
  const left = [...answers];
  const answer = <T>(message: string): Promise<T> => {
    questions.push(message);
    if (left.length === 0) throw new Error(`nobody answers "${message}"`);
    return Promise.resolve(left.shift() as T);
  };
  const prompt: Prompt = {
    confirm: ({ message }) => answer(message),
    // A wrong answer is asked for again, with what is wrong with it.
    async input({ message, default: preset, validate }) {
      for (let asked = message; ;) {
        const given = (await answer<string>(asked)) || (preset ?? '');
        const problem = (await validate?.(given)) ?? true;
        if (problem === true) return given;
        asked = `${message} ${problem}`;
      }
    },
    select: ({ message, choices }) => answer(`${message} [${choices.map(({ name }) => name).join(' | ')}]`),
    secret: ({ message }) => answer(message),
    editor: ({ message }) => answer(message),
  };
  const stdout = kept();
  const stderr = kept();
  const context = createContext({
    root: PACKAGE_ROOT,
    io: { stdin: { isTTY: true, raw: new PassThrough(), readAll: () => new Promise(() => {}) }, stdout, stderr },
    env: at.env,
    cwd,
    home: at.home,
    platform: process.platform,
    clock: clockFrom(() => Date.now()),
    signal: new AbortController().signal,
  });
  context.prompt = () => Promise.resolve(prompt);
  const code = await run(['conv', 'new', ...args], context);
  return { code, out: stdout.text(), err: stderr.text(), questions };
}

function kept(): OutputStream & { text(): string } {
  let text = '';
  return {
    isTTY: true,
    columns: 100,
    write(chunk) {
      text += Buffer.from(chunk).toString('utf8');
      return Promise.resolve();
    },
    text: () => text,
  };
}

const conversations = async (): Promise<ConversationJson[]> =>
  json<{ items: ConversationJson[] }>(await world.acs('conv', 'list', '--json')).items;

describe('conv new without a message, on a terminal', () => {
  it('asks for repository, branch, message and spec, and for a last yes', async () => {
    const asked = await onTerminal(repository, ['--dry-run'], ['here', '', 'Repair the tests', 'process', true]);
    expect(asked.questions[0]).toBe(`Repository [${repository} | none | another repository]`);
    expect(asked.questions.slice(1, 3)).toEqual(['Branch', 'What should the agent do? (empty opens your editor)']);
    expect(asked.questions[3]).toContain('Sandbox spec');
    expect(asked.questions[4]).toBe('Start the conversation?');
    expect(asked.err).toMatch(/repository +\S+\n/);
    expect(asked.code, asked.err).toBe(0);
  });

  it('starts nothing when the last answer is no', async () => {
    const before = (await conversations()).length;
    const asked = await onTerminal(repository, [], ['none', 'Do it', 'process', false]);
    expect(asked.code).toBe(2);
    expect(asked.err).toContain('nothing was started');
    const [, file = ''] = /saved in (\S+);/.exec(asked.err) ?? [];
    expect(await readFile(file, 'utf8')).toBe('Do it\n');
    await rm(path.dirname(file), { recursive: true });
    expect(await conversations()).toHaveLength(before);
  });

  it('asks only for what the flags leave open', async () => {
    const asked = await onTerminal(repository, ['--no-repo', '--spec', 'process', '--dry-run', '-y'], ['Do it']);
    expect(asked.questions).toEqual(['What should the agent do? (empty opens your editor)']);
    expect(asked.code, asked.err).toBe(0);
  });

  it('opens the editor for a message of many lines', async () => {
    const asked = await onTerminal(
      repository,
      ['--no-repo', '--spec', 'process', '--dry-run', '-y'],
      ['', 'One\nTwo\n\n# What should the agent do? This line is removed.\n'],
    );
    expect(asked.questions[1]).toContain('editor');
    expect(asked.out).toContain('"text": "One\\nTwo"');
  });

  it('asks for the branch where the checkout is on none', async () => {
    const folder = path.join(world.dir, 'empty');
    await mkdir(folder);
    const asked = await onTerminal(
      folder,
      ['--spec', 'process', '--dry-run', '-y'],
      ['other', repository, 'main', 'Do it'],
    );
    expect(asked.questions[0]).toBe('Repository [none | another repository]');
    expect(asked.questions[1]).toContain('owner/name');
    expect(asked.out).toContain('"selected_branch": "main"');
  });

  it('asks nothing with --no-input', async () => {
    const asked = await onTerminal(repository, ['--no-input'], []);
    expect(asked).toMatchObject({ code: 2, questions: [] });
  });

  it('checks a branch when it is entered', async () => {
    const asked = await onTerminal(
      repository,
      ['--spec', 'process', '--dry-run', '-y'],
      ['here', 'no-such-branch', 'main', 'Do it'],
    );
    expect(asked.questions[2]).toBe(`Branch ${repository} has no branch "no-such-branch"`);
    expect(asked.code, asked.err).toBe(0);
  });

  it('keeps a typed message in a file that the error names when the start fails or the answer is no', async () => {
    for (const [last, code] of [
      [true, 12], // the local service runs no agent with a model
      [false, 2],
    ] as const) {
      const asked = await onTerminal(repository, ['--spec', 'process'], ['none', 'Do it all', last]);
      expect(asked.code, asked.err).toBe(code);
      const file = /new\s+--file\s+(\S+)/.exec(asked.err)?.[1] ?? '';
      expect(await readFile(file, 'utf8'), asked.err).toBe('Do it all\n');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await rm(path.dirname(file), { recursive: true });
    }
  });
});

describe('conv new without a message and without a model, on a terminal', () => {
  let bare: World;
  beforeAll(async () => {
    bare = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => bare.close());

  it('offers the demo before the first question and starts it', async () => {
    const asked = await onTerminal(repository, ['-y', '--wait'], ['demo', 'none', 'process'], bare);
    expect(asked.questions[0]).toContain('[the demo | a replay file | a conversation on another server]');
    expect(asked.code, asked.err).toBe(0);
  });

  it('takes a replay file and asks again for one that cannot be used', async () => {
    const file = path.join(bare.dir, 'run.json');
    await writeFile(file, '[{"action":"finish","args":{"final_thought":"done"}}]');
    const asked = await onTerminal(
      repository,
      ['-y', '--wait'],
      ['replay', 'nowhere.json', file, 'none', 'process'],
      bare,
    );
    expect(asked.questions[2]).toContain('cannot read nowhere.json');
    expect(asked.code, asked.err).toBe(0);
  });

  it('goes to the server of a profile', async () => {
    const at = { ...bare, env: { ...bare.env, ACS_API_KEY: undefined, ACS_BASE_URL: undefined } };
    await bare.invoke({
      args: ['profile', 'add', 'work', '--base-url', world.service.url, '--api-key-file', '-'],
      stdin: world.service.key,
    });
    const asked = await onTerminal(
      repository,
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
      at,
    );
    expect(asked.questions.slice(1)).toEqual(['Server [work]', expect.any(String), expect.any(String)]);
    expect({ code: asked.code, out: asked.out }, asked.err).toEqual({
      code: 0,
      out: expect.stringContaining(world.service.url) as string,
    });
  });

  it('ends with 3 and the next step where no profile is stored', async () => {
    const at = { ...bare, env: { ...bare.env, ACS_CONFIG_DIR: path.join(bare.dir, 'nothing') } };
    const asked = await onTerminal(repository, [], ['profile'], at);
    expect(asked).toMatchObject({ code: 3, err: expect.stringContaining('acs profile add') as string });
  });
});
