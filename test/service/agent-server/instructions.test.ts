import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readInstructions, triggeredBy } from '../../../src/service/agent-server/instructions.ts';
import { usePlainSandbox } from './support/shared-sandboxes.ts';

const plain = usePlainSandbox();
let dir: string;
beforeEach(() => {
  dir = plain.folder();
  execFileSync('git', ['init', '-q', dir]);
});

function put(file: string, text: string | Buffer): void {
  mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
  writeFileSync(path.join(dir, file), text);
}
const read = (disabled: string[] = []) => readInstructions(plain.sandbox, dir, disabled);
const skill = (front: string, text: string) => `---\n${front}\n---\n${text}\n`;

describe('what a repository says to agents', () => {
  it('is in the prompt where it holds always, and named where it is read on demand', async () => {
    put('AGENTS.md', 'Use tabs.');
    symlinkSync('AGENTS.md', path.join(dir, 'CLAUDE.md'));
    put('web/AGENTS.md', 'Web rules.');
    put('node_modules/x/AGENTS.md', 'Of a dependency.');
    put('.gitignore', 'node_modules\n');
    put('.openhands/microagents/repo.md', 'Overview.');
    put('.agents/skills/deploy/SKILL.md', skill('description: Deploys', 'Run make.'));
    put('.agents/skills/deploy/references/more.md', 'A reference.');
    put('.agents/skills/README.md', 'About skills.');
    const { text, skills, notice } = await read();
    expect(text).toBe(
      'Instructions of the repository (AGENTS.md):\n\nUse tabs.\n\n' +
        'Instructions of the repository (.openhands/microagents/repo.md):\n\nOverview.\n\n' +
        'Folders with instructions of their own: read the file before you work in its folder:' +
        '\n\n- web/AGENTS.md\n\n' +
        'Skills of the repository: read the file of a skill when the task needs it:\n\n' +
        '- deploy (.agents/skills/deploy/SKILL.md): Deploys',
    );
    expect([skills, notice]).toEqual([[], '']);
  });

  it('with triggers is added to the messages that have one of them as a word', async () => {
    put('.openhands/skills/db.md', skill('triggers: [Database, /sql, 5]', 'Postgres.'));
    put('.agents/skills/db/SKILL.md', skill('name: ship\ntriggers: [ship it]', 'Run ship.'));
    put('.openhands/skills/off.md', skill('name: off\ntriggers: [database]', 'Not this.'));
    put('.openhands/microagents/task.md', skill('name: fix\ninputs: []', 'Ask first.'));
    const { skills } = await read(['off']);
    const added = (message: string) => triggeredBy(skills, message).map(({ name }) => name);
    expect(added('the DATABASE, and ship it')).toEqual(['ship', 'db']);
    expect([added('databases'), added('use /sql!'), added('/fix')]).toEqual([[], ['db'], ['fix']]);
    expect(skills.find(({ name }) => name === 'db')?.text).toBe(
      'Skill db (.openhands/skills/db.md):\n\nPostgres.\n',
    );
  });

  it('is left out and named where it is not text, invalid, or outside of the repository', async () => {
    put('../secret.txt', 'key');
    symlinkSync('../secret.txt', path.join(dir, 'CLAUDE.md'));
    symlinkSync(path.dirname(dir), path.join(dir, 'above'));
    mkdirSync(path.join(dir, '.openhands'));
    symlinkSync('/etc', path.join(dir, '.openhands/skills'));
    put('AGENTS.md', Buffer.from('a\0b'));
    put('.openhands/microagents/bad.md', skill('[[[: x', 'Kept.'));
    put('.openhands/microagents/folder.md/x', '');
    const { text, notice } = await read();
    expect(text).toMatch(/^Instructions of the repository \(\S+bad\.md\):\n\nKept\.$/);
    expect(notice.split('\n').sort()).toEqual([
      'AGENTS.md is not used: it is not a text.',
      'CLAUDE.md is not used: it is outside of the folder.',
      expect.stringMatching(/^The front matter of \.openhands\/microagents\/bad\.md is not used: /),
    ]);
  });

  it('is cut at its limits, and a notice names that to user and model', async () => {
    put('AGENTS.md', 'é'.repeat(60_000));
    put('CLAUDE.md', 'c'.repeat(30_000));
    put('.openhands/instructions.md', 'more');
    for (let at = 0; at < 150; at += 1) put(`.agents/skills/s${at}/SKILL.md`, 'x');
    const { text, notice } = await read();
    expect(text).toContain(`é\n[Cut after 20000 characters: AGENTS.md has more.]`);
    expect(text.length).toBeLessThan(41_000);
    expect(notice.split('\n')).toEqual([
      'Of 150 skills of the repository the first 100 are used.',
      'The model gets the first 20000 characters of AGENTS.md.',
      expect.stringMatching(/^The model gets the first 19\d+ characters of CLAUDE\.md\.$/),
      'The model gets the first 0 characters of .openhands/instructions.md.',
      'The model gets the first 0 characters of the list of skills.',
    ]);
  });

  it('is also read in a folder without a repository', async () => {
    rmSync(path.join(dir, '.git'), { recursive: true });
    put('AGENTS.md', 'Use tabs.');
    expect((await read()).text).toBe('Instructions of the repository (AGENTS.md):\n\nUse tabs.');
  });
});
