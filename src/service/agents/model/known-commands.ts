/**
 * Steps that only read the workspace, build it or test it: without isolation the others need a
 * confirmation. A build executes code of the repository, which no unconfirmed step has changed.
 */
import path from 'node:path';
import type { ToolStep } from '../../base/steps.ts';
import { leadsOutside } from './links.ts';

const LONGEST = 2000;
const MOST_FOLDERS = 16;

const QUOTED = /'([^']*)'|"((?:[^"$`\\!]|\\[^"$`\\\n])*)"/gu;
const WORD = new RegExp(String.raw`(?:[\p{L}\p{N}_@%+=:,./~^*?-]|${QUOTED.source})+`, 'u');
/** In everything else (substitutions, redirections, groups, `&`, braces) a command may hide. */
const TOKEN = new RegExp(
  String.raw`[ \t]+|(&&|\|\||[;|\n])|2>(?:&1|/dev/null)(?=[\s;|]|$)|(?<word>${WORD.source})`,
  'uy',
);
/** A file name in its place could be an option, or the folder above. */
const UNSAFE_GLOB = /^[-*?]|(?:^|\/)\.[*?]/;
const OUTSIDE = /^(?:-\w+|[^/]*[=:,])?[/~]|(?:^|[/=:,])\.\.$|\.\.\//;

type Rule = RegExp | ((words: readonly string[]) => boolean);

/** Each row is for the programs that its first text names. */
function byProgram<Each>(rows: readonly (readonly [string, Each])[]): ReadonlyMap<string, Each> {
  return new Map(
    rows.flatMap(([names, each]) => names.split(' ').map((name) => [name, each] as const)),
  );
}

const withoutOption =
  (option: RegExp): Rule =>
  (words) =>
    !words.some((word) => option.test(word));

const SED_LINES = /^\d+(?:,(?:\d+|\$))?p$/;

/** A pattern is for the words after the program. GNU programs accept shortened long options. */
const READS = byProgram<Rule>([
  ['cd', /^[^-]/],
  ['find', withoutOption(/^-(?:L|delete|exec|files0|fls|follow|fprint|ok)/)],
  ['rg', withoutOption(/^--(?:follow|hostname-bin|pre|search-zip)|^-\w*[Lz]/)],
  [
    'sed',
    ([quiet, script = '', ...files]) =>
      quiet === '-n' && SED_LINES.test(script) && !files.some((word) => word.startsWith('-')),
  ],
  ['sort', withoutOption(/^-\w*[oT]|^--(?:[cot]|fil)/)],
  ['tree', withoutOption(/^-\w*[loR]/)],
  // Options with which links in the folders below are followed.
  ['diff', withoutOption(/^-\w*r|^--r/)],
  ['du', withoutOption(/^-\w*L|^--[df]/)],
  ['ls', withoutOption(/^-\w*L|^--dereference$/)],
  ['egrep fgrep grep', withoutOption(/^-\w*R|^--d/)],
  // Options with which the names of the files are read from a file.
  ['wc', withoutOption(/^--f/)],
  ['md5sum sha256sum', withoutOption(/^-\w*c|^--c/)],
  [
    'basename cat cmp comm cut dirname echo head nl pwd readlink realpath stat tail tr true ' +
      'type which',
    /^/,
  ],
]);

const GIT = new RegExp(
  '^(?:--no-pager )?(?:(?:branch|remote|tag)(?: -[alrv]+| --list| --show-current)?$|' +
    '(?:blame|describe|diff|grep|log|ls-files|ls-tree|rev-list|rev-parse|show|status)(?: |$))',
);
const GIT_EXECUTES_OR_WRITES = /^-\w*O|^--(?:ext|op|ou)/;

/** Another target or script may install, publish or deploy. */
const TARGET = '(?:all|build|check|compile|lint|tests?|type-?check)';
const targets = (names: string): RegExp =>
  new RegExp(String.raw`^(?:(?:-\S*|\d+|${names})(?: |$))*$`);
const SCRIPT = new RegExp(`^(?:test|run(?: -s| --silent)? ${TARGET})(?: |$)`);

/** For the words after the program. */
const BUILDS = byProgram<RegExp>([
  ['cargo', /^(?:build|check|clippy|test)(?: |$)/],
  ['go', /^(?:build|test|vet)(?: |$)/],
  ['node', /^--test(?: |$)/],
  ['pytest tsc unittest', /^/],
  ['make ninja', targets(TARGET)],
  ['npm pnpm yarn', SCRIPT],
  ['gradle ./gradlew', targets('(?:assemble|build|check|test)')],
  ['mvn ./mvnw', targets('(?:compile|package|test|verify)')],
]);
/** They name no program, folder or configuration in any of the builds. */
const BUILD_OPTION = new RegExp(
  '^-(?:[Bklnqsvx]|vv|j\\d*|count=\\d+|cover|race|run|short)$|' +
    '^--(?:all|all-features|all-targets|frozen|if-present|lf|lib|locked|maxfail=\\d+|noEmit|' +
    'no-run|offline|quiet|release|silent|tb=\\w+|test|verbose|workspace)$',
);
/** `a=b` sets a variable of make, mvn downloads `group:plugin:goal`, `@file` has options. */
const BUILD_OPERAND = /^(?!.*[^:]:[^:])[^-=*?@][^=*?]*$/s;

/**
 * @param folder the absolute path of the workspace, which is the top folder of its repository
 * @param current that in which a command of the terminal starts
 */
export function isReadOrBuild(step: ToolStep, folder: string, current: string): boolean {
  const isInside = (word: string): boolean => {
    const isBelow = `${word}/`.startsWith(`${folder}/`);
    return !OUTSIDE.test(isBelow ? `.${word.slice(folder.length)}` : word);
  };
  // The file editor takes $HOME for the home.
  if (step.type === 'edit')
    return (
      step.command === 'view' &&
      isInside(step.path) &&
      !step.path.startsWith('$') &&
      !leadsOutside(folder, [folder], [step.path])
    );
  if (step.type !== 'terminal') return false;
  // The first waits for the running command, the second ends it.
  if (step.is_input) return ['', 'C-c'].includes(step.command);
  const commands = commandsOf(step.command);
  if (commands === null || !isInside(current)) return false;
  // A folder of the repository can look like a bare one, whose settings name programs.
  const isAtTop =
    (current === folder || step.command.startsWith(`cd ${folder} && `)) &&
    commands.every(([program, to]) => program !== 'cd' || to === folder);
  return (
    commands.every(
      (words) =>
        words.every(isInside) &&
        (isRead(words) || isBuild(words)) &&
        (isAtTop || words[0] !== 'git'),
    ) && !followsLink(commands, folder, current)
  );
}

/** Whether a file that the commands name is out of the workspace behind a symbolic link. */
function followsLink(commands: readonly string[][], folder: string, current: string): boolean {
  // Where a `cd` has an effect depends on the pipeline: each of its folders counts for each word.
  let folders = [current];
  for (const [program, to = '.'] of commands) {
    if (program === 'cd')
      folders = [...new Set(folders.flatMap((each) => [each, path.resolve(each, to)]))];
    if (folders.length > MOST_FOLDERS) return true;
  }
  // `diff` of two folders reads what is in them.
  const words = commands.flatMap(([program = '', ...rest]) =>
    program === 'diff' ? rest.flatMap((word) => [word, `${word}/*`]) : [program, ...rest],
  );
  return leadsOutside(folder, folders, words);
}

/** The words of each command of a list or pipeline; null where it has another form. */
function commandsOf(text: string): string[][] | null {
  if (text.length > LONGEST) return null;
  const commands: string[][] = [[]];
  const token = new RegExp(TOKEN);
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    const word = match?.groups?.['word'];
    if (match === null) return null;
    if (match[1] !== undefined) commands.push([]);
    if (word === undefined) continue;
    const unquoted = word.replace(QUOTED, '$1$2');
    if (/[*?]/.test(word.replace(QUOTED, '')) && UNSAFE_GLOB.test(unquoted)) return null;
    commands.at(-1)?.push(unquoted);
  }
  return commands.filter((words) => words.length > 0);
}

function isRead([program = '', ...rest]: readonly string[]): boolean {
  const text = rest.join(' ');
  if (program === 'git')
    return GIT.test(text) && !rest.some((word) => GIT_EXECUTES_OR_WRITES.test(word));
  const rule = READS.get(program);
  return rule instanceof RegExp ? rule.test(text) : (rule?.(rest) ?? false);
}

function isBuild([program = '', ...rest]: readonly string[]): boolean {
  if (/^python3?$/.test(program) && rest[0] === '-m') return isBuild(rest.slice(1));
  return (
    BUILDS.get(program)?.test(rest.join(' ')) === true &&
    rest.every((word) => BUILD_OPTION.test(word) || BUILD_OPERAND.test(word))
  );
}
