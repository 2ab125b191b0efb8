/** What the repository says to agents: its instructions, and its skills (agentskills.io). */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { GIT_IN_SHELL } from '../../base/git-config.ts';
import { cut } from '../../base/text/well-formed.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { Skill } from '../base/model-config.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { BoundedText } from './shell.ts';

/** Characters of one text, and of all that the system prompt has of the repository. */
const LONGEST_TEXT = 20_000;
const LONGEST = 40_000;
/** Skills, their triggers, and folders with instructions. */
const MOST = 100;
const LONGEST_DESCRIPTION = 1000;
const LONGEST_LIST = 4 * 1024 * 1024;
const ALWAYS = ['AGENTS.md', 'CLAUDE.md', '.openhands/instructions.md'];
const FOLDERS = ['.agents/skills', '.openhands/skills', '.openhands/microagents'];
const OF_SKILLS = new RegExp(`^(?:${FOLDERS.join('|')})/`);
const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NESTED =
  'Folders with instructions of their own: read the file before you work in its folder';
const SKILLS = 'Skills of the repository: read the file of a skill when the task needs it';

const PATTERNS = [...ALWAYS, '**/AGENTS.md', ...FOLDERS.map((folder) => `${folder}/**/*.md`)];
/** Prints the files of the folder `$1` that git tracks or would add. */
const FILES = `${GIT_IN_SHELL}
cd "$1" && git ls-files -z --cached --others --exclude-standard -- \\
  ${PATTERNS.map((pattern) => `':(glob)${pattern}'`).join(' ')}`;

export interface Instructions {
  /** For the system prompt. */
  text: string;
  skills: Skill[];
  /** What the model does not get, for the user; empty: it gets all. */
  notice: string;
}

export const NO_INSTRUCTIONS: Instructions = { text: '', skills: [], notice: '' };

interface FoundSkill extends Skill {
  file: string;
  description: string;
  /** Its text is in the system prompt. */
  isAlways: boolean;
  isListed: boolean;
}

/** `disabled`: names of skills. */
export async function readInstructions(
  sandbox: Sandbox,
  workingDir: string,
  disabled: readonly unknown[] | null | undefined,
): Promise<Instructions> {
  const problems: string[] = [];
  const read = (name: string) =>
    readText(sandbox, workingDir, name).catch((error: unknown) => {
      if (!(error instanceof IsolationError)) throw error;
      if (error.code !== 'not-found') problems.push(`${name} is not used: ${error.message}`);
      return '';
    });
  const { nested, ofSkills } = sorted(await listFiles(sandbox, workingDir), problems);
  const always = await Promise.all(ALWAYS.map(async (file) => ({ file, text: await read(file) })));
  const found = ofSkills.map(async (file) => skillOf(file, await read(file), problems));
  const byName = new Map((await Promise.all(found)).reverse().map((each) => [each.name, each]));
  const skills = [...byName.values()].reverse().filter(({ name }) => !disabled?.includes(name));
  const listed = skills.filter(({ isListed }) => isListed);
  const parts = [
    ...[...always, ...skills.filter(({ isAlways }) => isAlways)].map(
      ({ file, text }) => [file, `Instructions of the repository (${file})`, text] as const,
    ),
    ['the list of AGENTS.md files', NESTED, nested.map((file) => `- ${file}`).join('\n')] as const,
    [
      'the list of skills',
      SKILLS,
      listed
        .map(({ file, name, description }) =>
          `- ${name} (${file}): ${description}`.replace(/: $/, ''),
        )
        .join('\n'),
    ] as const,
  ];
  return {
    text: fitted(parts, problems),
    skills: skills
      .filter(({ triggers }) => triggers.length > 0)
      .map(({ name, file, triggers, text }) => ({
        name,
        triggers,
        text: `Skill ${name} (${file}):\n\n${fit(file, text, LONGEST_TEXT, problems)}`,
      })),
    notice: problems.join('\n'),
  };
}

/** Empty: `workingDir` is in no repository. */
async function listFiles(sandbox: Sandbox, workingDir: string): Promise<string[]> {
  const output = new BoundedText(LONGEST_LIST, 0);
  const argv = ['/bin/sh', '-c', FILES, 'sh', workingDir];
  await sandbox.run(
    { argv, cwd: '/' },
    { onOutput: (stream, data) => stream === 'stdout' && output.push(data) },
  );
  return output.take().split('\0').slice(0, -1);
}

function sorted(files: readonly string[], problems: string[]) {
  const folders = files.filter((file) => /\/SKILL\.md$/i.test(file)).map(path.posix.dirname);
  const roots = new Set(folders);
  const isOfRoot = (file: string): boolean => {
    const folder = path.posix.dirname(file);
    return folder !== '.' && (roots.has(folder) || isOfRoot(folder));
  };
  const ofSkills = files.filter(
    (file) =>
      OF_SKILLS.test(file) &&
      (/\/SKILL\.md$/i.test(file) || !(file.endsWith('/README.md') || isOfRoot(file))),
  );
  const nested = files.filter((file) => file.endsWith('/AGENTS.md') && !OF_SKILLS.test(file));
  for (const [list, name] of [
    [ofSkills, 'skills'],
    [nested, 'AGENTS.md files'],
  ] as const) {
    if (list.length > MOST)
      problems.push(`Of ${list.length} ${name} of the repository the first ${MOST} are used.`);
  }
  return { nested: nested.slice(0, MOST), ofSkills: ofSkills.slice(0, MOST) };
}

async function readText(sandbox: Sandbox, within: string, name: string): Promise<string> {
  const chunk = { path: path.posix.join(within, name), within, token: randomUUID(), offset: 0 };
  // A character has up to 4 bytes.
  const { data, size } = await sandbox.readChunk({ ...chunk, length: 4 * (LONGEST_TEXT + 1) });
  if (data.length < size) await sandbox.readChunk({ ...chunk, length: 0 });
  if (data.includes(0)) throw new IsolationError('invalid', 'it is not a text.');
  return data.toString('utf8').replace(/^\uFEFF/, '');
}

async function skillOf(file: string, given: string, problems: string[]): Promise<FoundSkill> {
  const isSkillFile = /\/SKILL\.md$/i.test(file);
  const [front = '', yaml = null] = FRONT_MATTER.exec(cut(given, LONGEST_TEXT)) ?? [];
  const members = yaml === null ? {} : await parsed(file, yaml, problems);
  const ofFile = isSkillFile
    ? path.posix.basename(path.posix.dirname(file))
    : file.replace(OF_SKILLS, '').replace(/\.md$/, '');
  const { name = ofFile, description = '' } = members;
  const triggers = [
    ...(Array.isArray(members['triggers']) ? (members['triggers'] as unknown[]) : []),
    ...('inputs' in members ? [`/${String(name)}`] : []),
  ].filter((each): each is string => typeof each === 'string' && each !== '');
  const isAlways = !isSkillFile && triggers.length === 0;
  return {
    name: String(name),
    file,
    description: cut(String(description).replace(/\s+/g, ' '), LONGEST_DESCRIPTION),
    triggers: triggers.slice(0, MOST),
    text: given.slice(front.length),
    isAlways,
    isListed: !isAlways && members['disable-model-invocation'] !== true && given !== '',
  };
}

async function parsed(file: string, yaml: string, problems: string[]) {
  const { parse } = await import('yaml');
  try {
    const value: unknown = parse(yaml);
    return isRecord(value) ? value : {};
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n');
    problems.push(`The front matter of ${file} is not used: ${why}`);
    return {};
  }
}

/** The parts with a text, each behind its title. */
function fitted(
  parts: readonly (readonly [source: string, title: string, text: string])[],
  problems: string[],
): string {
  let left = LONGEST;
  const seen = new Set(['']);
  const shown: string[] = [];
  for (const [source, title, given] of parts) {
    const text = given.trim();
    // CLAUDE.md often is a link to AGENTS.md.
    if (seen.has(text)) continue;
    seen.add(text);
    const kept = fit(source, text, Math.min(LONGEST_TEXT, left), problems);
    left = Math.max(0, left - kept.length);
    shown.push(`${title}:\n\n${kept}`);
  }
  return shown.join('\n\n');
}

function fit(source: string, text: string, length: number, problems: string[]): string {
  if (text.length <= length) return text;
  problems.push(`The model gets the first ${length} characters of ${source}.`);
  return `${cut(text, length)}\n[Cut after ${length} characters: ${source} has more.]`;
}

/** The skills that a message of the user has a trigger of, as openhands-sdk finds them. */
export function triggeredBy(skills: readonly Skill[], message: string): Skill[] {
  const text = cut(message, LONGEST_TEXT).toLowerCase();
  return skills.filter(({ triggers }) =>
    triggers.some((trigger) => {
      const word = trigger.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return new RegExp(`(?<![a-z0-9])${word}(?![a-z0-9])`).test(text);
    }),
  );
}
