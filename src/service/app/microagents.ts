/** The microagents of a repository (interface section 3.5), read at the host of the repository without cloning it. */
import type { Forgejo } from './forgejo.ts';

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
/** Of a line in the front matter: a repository is anybody's, and nobody's trigger is longer. */
const MAX_LINE = 500;
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

/**
 * One file of the repository as a microagent; null when there is no such file.
 * @throws ForgejoError
 */
export async function microagentContent(
  forgejo: Forgejo,
  repository: string,
  path: string,
): Promise<MicroagentContent | null> {
  const text = await forgejo.file(repository, path);
  if (text === null) return null;
  const { content, triggers } = withoutFrontMatter(text);
  return { content, path, triggers, git_provider: 'forgejo' };
}

/** Takes the lines between a first `---` and the next one apart from the text behind them. */
function withoutFrontMatter(text: string): { content: string; triggers: string[] } {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---');
  if (lines[0]?.trimEnd() !== '---' || end < 0) return { content: text, triggers: [] };
  return {
    content: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
    triggers: triggersIn(lines.slice(1, end).map((line) => line.slice(0, MAX_LINE))),
  };
}

/** The list under `triggers:`, one a line or all within brackets: of YAML nothing else is needed here. */
function triggersIn(lines: string[]): string[] {
  const at = lines.findIndex((line) => /^triggers\s*:/.test(line));
  if (at < 0) return [];
  const inline = /^triggers\s*:\s*\[(.*)\]\s*(?:#.*)?$/.exec(lines[at] ?? '')?.[1];
  if (inline !== undefined) return inline.split(',').map(plain).filter(Boolean);
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !/^\s*(?:-\s.*|#.*)?$/.test(line));
  const items = (end < 0 ? rest : rest.slice(0, end)).map((line) => /^\s*-\s+(.*)$/.exec(line)?.[1] ?? '');
  return items.map(plain).filter(Boolean);
}

/** A scalar without its quotes, or without a comment behind it. */
function plain(scalar: string): string {
  const text = scalar.trim();
  const quoted = /^(["'])(.*?)\1\s*(?:#.*)?$/.exec(text)?.[2];
  return quoted ?? text.replace(/\s+#.*$/, '');
}
