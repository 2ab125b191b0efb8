import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConversationJson, json } from './support.ts';
import { useWizardWorld } from './wizard-world.ts';

const at = useWizardWorld();
const { onTerminal } = at;

const conversations = async (): Promise<ConversationJson[]> =>
  json<{ items: ConversationJson[] }>(await at.world.acs('conv', 'list', '--json')).items;

describe('conv new without a message, on a terminal', () => {
  it('asks for repository, branch, message and spec, and then for a confirmation', async () => {
    const asked = await onTerminal(at.repository, ['--dry-run'], ['here', '', 'Repair the tests', 'process', true]);
    expect(asked.questions[0]).toBe(`Repository [${at.repository} | none | another repository]`);
    expect(asked.questions.slice(1, 3)).toEqual(['Branch', 'What should the agent do? (empty opens your editor)']);
    expect(asked.questions[3]).toContain('Sandbox spec');
    expect(asked.questions[4]).toBe('Start the conversation?');
    expect(asked.err).toMatch(/repository +\S+\n/);
    expect(asked.code, asked.err).toBe(0);
  });

  it('starts nothing when the confirmation is refused', async () => {
    const before = (await conversations()).length;
    const asked = await onTerminal(at.repository, [], ['none', 'Do it', 'process', false]);
    expect(asked.code).toBe(2);
    expect(asked.err).toContain('nothing was started');
    const [, file = ''] = /saved in (\S+);/.exec(asked.err) ?? [];
    expect(await readFile(file, 'utf8')).toBe('Do it\n');
    await rm(path.dirname(file), { recursive: true });
    expect(await conversations()).toHaveLength(before);
  });

  it('does not ask for what a flag gives', async () => {
    const asked = await onTerminal(at.repository, ['--no-repo', '--spec', 'process', '--dry-run', '-y'], ['Do it']);
    expect(asked.questions).toEqual(['What should the agent do? (empty opens your editor)']);
    expect(asked.code, asked.err).toBe(0);
  });

  it('opens the editor for an empty message', async () => {
    const asked = await onTerminal(
      at.repository,
      ['--no-repo', '--spec', 'process', '--dry-run', '-y'],
      ['', 'One\nTwo\n\n# What should the agent do? This line is removed.\n'],
    );
    expect(asked.questions[1]).toContain('editor');
    expect(asked.out).toContain('"text": "One\\nTwo"');
  });

  it('asks for the branch when HEAD is detached', async () => {
    const folder = path.join(at.world.dir, 'empty');
    await mkdir(folder);
    const asked = await onTerminal(
      folder,
      ['--spec', 'process', '--dry-run', '-y'],
      ['other', at.repository, 'main', 'Do it'],
    );
    expect(asked.questions[0]).toBe('Repository [none | another repository]');
    expect(asked.questions[1]).toContain('owner/name');
    expect(asked.out).toContain('"selected_branch": "main"');
  });

  it('--no-input prevents every prompt', async () => {
    const asked = await onTerminal(at.repository, ['--no-input'], []);
    expect(asked).toMatchObject({ code: 2, questions: [] });
  });

  it('checks a branch when it is entered', async () => {
    const asked = await onTerminal(
      at.repository,
      ['--spec', 'process', '--dry-run', '-y'],
      ['here', 'no-such-branch', 'main', 'Do it'],
    );
    expect(asked.questions[2]).toBe(`Branch ${at.repository} has no branch "no-such-branch"`);
    expect(asked.code, asked.err).toBe(0);
  });
});
