/** The microagents of a repository (interface section 3.5), read at the host of the repository without cloning it. */
import * as v from 'valibot';
import type { Forgejo } from './repositories/forgejo.ts';

export interface Microagent {
  name: string;
  path: string;
  /** When this was looked up: a host tells no other time. */
  created_at: string;
}

export interface MicroagentContent {
  /** Without the front matter. */
  content: string;
  path: string;
  triggers: string[];
  git_provider: 'forgejo';
}

const RULES = '.cursorrules';
/** Of the front matter, in characters: a repository is anybody's, and reading YAML takes longer than its length. */
const MAX_FRONT_MATTER = 10_000;
/** Brackets of it, and of a line of it the indentation and the marks that may begin a level. */
const MAX_LEVELS = 40;
/** Repositories that hold nothing else keep them at their top. */
const OF_AN_OWNER = /\/(?:\.openhands|openhands-config)$/;

/**
 * Those in the folder for them, then the rules file of editors; a repository that is not there has none.
 * @param repository `owner/name`
 * @param now what `created_at` says
 * @throws ForgejoError
 */
export async function microagentsOf(forgejo: Forgejo, repository: string, now: string): Promise<Microagent[]> {
  const folder = OF_AN_OWNER.test(repository) ? 'microagents' : '.openhands/microagents';
  const names = (await forgejo.folder(repository, folder)).filter((name) => name.endsWith('.md'));
  const found = names.map((name) => ({
    name: name.slice(0, -'.md'.length),
    path: `${folder}/${name}`,
    created_at: now,
  }));
  if ((await forgejo.file(repository, RULES)) === null) return found;
  return [...found, { name: RULES.slice(1), path: RULES, created_at: now }];
}

/** The front matter is no YAML, or none that says anything of a microagent. */
export class FrontMatterError extends Error {
  override readonly name = 'FrontMatterError';
}

/**
 * One file of the repository as a microagent; null when there is no such file.
 * @throws ForgejoError, FrontMatterError
 */
export async function microagentContent(
  forgejo: Forgejo,
  repository: string,
  path: string,
): Promise<MicroagentContent | null> {
  const text = await forgejo.file(repository, path);
  if (text === null) return null;
  const { content, frontMatter } = withoutFrontMatter(text);
  const triggers = frontMatter === null ? [] : await triggersIn(frontMatter);
  return { content, path, triggers, git_provider: 'forgejo' };
}

/** Takes the lines between a first `---` and the next one apart from the text behind them. */
function withoutFrontMatter(text: string): { content: string; frontMatter: string | null } {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---');
  if (lines[0]?.trimEnd() !== '---' || end < 0) return { content: text, frontMatter: null };
  const below = lines.slice(end + 1).join('\n');
  return { content: below.trim(), frontMatter: lines.slice(1, end).join('\n') };
}

/** What a microagent's front matter says, as far as it is asked for here. A list is an object to the schema library. */
const frontMatterSchema = v.pipe(
  v.unknown(),
  v.check((members) => !Array.isArray(members)),
  v.nullable(v.object({ triggers: v.nullish(v.array(v.string())) })),
);

async function triggersIn(frontMatter: string): Promise<string[]> {
  if (frontMatter.length > MAX_FRONT_MATTER) throw new FrontMatterError('its front matter is too long');
  if (mayBeDeep(frontMatter)) throw new FrontMatterError('its front matter is nested too deeply');
  const { parse } = await import('yaml');
  let members: unknown;
  try {
    // Every scalar is a text: `no` and `1.0` are words of a user here.
    members = parse(frontMatter, { schema: 'failsafe', logLevel: 'error' });
  } catch (error) {
    throw new FrontMatterError(error instanceof Error ? error.message : 'its front matter is no YAML');
  }
  const known = v.safeParse(frontMatterSchema, members);
  if (!known.success) throw new FrontMatterError('the triggers of its front matter are no list of texts');
  return known.output?.triggers ?? [];
}

/**
 * Told from the text, before the library reads it: it goes down with each level, so that a thousand characters can end
 * the process at the bottom of its stack, and keys within keys take it half a minute.
 */
function mayBeDeep(frontMatter: string): boolean {
  const count = (pattern: RegExp, text: string): number => text.match(pattern)?.length ?? 0;
  const levels = (line: string): number => line.length - line.trimStart().length + count(/[-?:](?=\s|$)/g, line);
  const lines = frontMatter.split(/[\r\n]/);
  return count(/[[{]/g, frontMatter) > MAX_LEVELS || lines.some((line) => levels(line) > MAX_LEVELS);
}
