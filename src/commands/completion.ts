/**
 * `acs __complete` prints lines of a word, a tab and its description; the line `:files` stands for
 * files.
 */
import type { Command, Argument, Option } from 'commander';
import type { Context } from './context.ts';
import type { RecordShape } from '../output/view.ts';
import { explain, explanationOf, childNamed, TOPICS } from './shared/declare.ts';
import { oneOf, type WithWords } from './shared/option-parsers.ts';
import { isAppError } from '../base/errors.ts';
import { safeLine } from '../base/text/safe-text.ts';

/** From bash 3.2 on, and without the package bash-completion. */
const BASH = `# bash completion for acs
_acs() {
  local line="\${COMP_LINE:0:COMP_POINT}" words word value
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=('')
  word="\${words[\${#words[@]}-1]}"
  # bash replaces only what stands after the last = or : of a word
  value="\${word##*[=:]}"
  COMPREPLY=()
  compopt -o nosort 2>/dev/null
  while IFS= read -r line; do
    if [[ "$line" == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$value")
    else
      line="\${line%%$'\\t'*}"
      COMPREPLY+=("\${line#"\${word%"$value"}"}")
    fi
  done < <(acs __complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _acs acs
`;

/** Found in $fpath as _acs, or evaluated after compinit. */
const ZSH = `#compdef acs
# zsh completion for acs
_acs() {
  local line word files=''
  local -a found
  for line in "\${(@f)$(acs __complete -- "\${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    word="\${line%%$'\\t'*}"
    case "$word" in
      '') ;;
      :files) files=1 ;;
      *)
        line="\${line#"$word"}"
        found+=("\${word//:/\\\\:}\${line:+:\${line#$'\\t'}}")
        ;;
    esac
  done
  ((\${#found})) && _describe -V 'acs' found
  [[ -n "$files" ]] || return
  compset -P '*='
  _files
}
if [ "\${funcstack[1]}" = '_acs' ]; then
  _acs "$@"
else
  compdef _acs acs
fi
`;

const FISH = `# fish completion for acs
function __acs_complete
    set -l word (commandline -ct)
    set -l words (commandline -opc) "$word"
    set -l flag (string match -r '^-[^=]*=' -- "$word")
    for line in (acs __complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (string replace -r '^-[^=]*=' '' -- "$word") | string replace -r '^' -- "$flag"
        else
            echo $line
        end
    end
end
complete -c acs -f -k -a '(__acs_complete)'
`;

/**
 * A space stands for an empty last word, which PowerShell before 7.3 does not pass to a program.
 */
const POWERSHELL = `# PowerShell completion for acs; to use it: acs completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName acs -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $last = if ($wordToComplete) { $wordToComplete } else { ' ' }
  acs __complete -- @words $last 2>$null | Where-Object { $_ -and $_ -ne ':files' } | ForEach-Object {
    $word, $description = $_.Split([char[]]@(9), 2)
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $(if ($description) { $description } else { $word }))
  }
}
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL };
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export function declareCompletion(root: Command, ctx: Context): void {
  const command = root.command('completion').description('print a shell completion script');
  command.argument('<shell>', SHELLS.join(', '), oneOf(...SHELLS));
  explain(command, {
    notes: [
      'Completes commands, flags, the values of flags, names of profiles and settings, and, ' +
        'while the local service is running, its ids with their titles, newest first, and its ' +
        'paths for `acs api`. It starts nothing, and sends requests only to the local ' +
        'service; for other servers it offers @last alone.',
    ],
    examples: [
      {
        command: 'acs completion bash > ~/.local/share/bash-completion/completions/acs',
        does: 'bash; create the folder first (mkdir -p); start a new shell to use it',
      },
      { command: 'acs completion zsh > "${fpath[1]}/_acs"', does: 'zsh' },
      {
        command: 'acs completion fish > ~/.config/fish/completions/acs.fish',
        does: 'fish; create the folder first',
      },
    ],
  });
  command.action(async (shell: keyof typeof SCRIPTS) => {
    ctx.out.check(null, 'raw');
    await ctx.out.raw(SCRIPTS[shell]);
  });
  root
    .command('__complete [words...]', { hidden: true })
    .action(async (words: string[]) => printCandidates(words, root, ctx));
}

const NEWEST = 100;

interface Candidate {
  word: string;
  title?: string | null;
}

type Server = Awaited<ReturnType<Context['connect']>>;

const FILES: Candidate = { word: ':files' };

/**
 * Starts nothing, sends nothing to another server, and prints nothing on a failure: a shell inserts
 * what it prints.
 *
 * @param words those after `acs`; the last one is incomplete, and empty or a space when it is not
 * begun
 */
async function printCandidates(
  words: readonly string[],
  root: Command,
  ctx: Context,
): Promise<void> {
  const last = (words.at(-1) ?? '').trim();
  const found = await candidates(words.slice(0, -1), last, root, ctx).catch(() => []);
  const lines = found
    .filter((each) => each === FILES || each.word.startsWith(last))
    .map(({ word, title }) => `${word}${title ? `\t${safeLine(title)}` : ''}\n`);
  if (lines.length > 0) await ctx.out.raw(lines.join(''));
}

async function candidates(
  before: readonly string[],
  last: string,
  root: Command,
  ctx: Context,
): Promise<Candidate[]> {
  let command = root;
  let isHelp = false;
  let count = 0; // of arguments
  let open: Option | undefined; // a flag whose value is the next word
  const flagNamed = (name: string) =>
    [...command.options, ...root.options].find(
      (option) => option.short === name || option.long === name,
    );
  const give = (option: Option, value: string): void => {
    if (option.long === '--profile') ctx.globals = { ...ctx.globals, profile: value };
    if (option.long === '--base-url') ctx.globals = { ...ctx.globals, baseUrl: value };
  };
  for (const word of before) {
    const [, name, value] = /^(-[^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (open !== undefined) {
      give(open, word);
      open = undefined;
    } else if (word === '--') {
      return [];
    } else if (name !== undefined) {
      const option = flagNamed(name);
      if (option === undefined || !(option.required || option.optional)) continue;
      if (value === undefined) open = option;
      else give(option, value);
    } else {
      const child = childNamed(command, word);
      if (child === undefined) count += 1;
      else if (child.name() === 'help' && command === root) isHelp = true;
      else command = child;
    }
  }

  const [flag = ''] = (open === undefined && /^--[^=]+=/.exec(last)) || [];
  open ??= flag === '' ? undefined : flagNamed(flag.slice(0, -1));
  if (open !== undefined) {
    // Of several values separated by commas the last one is completed.
    const list = last.slice(flag.length).replace(/[^,]*$/, '');
    const values = (
      open.long === '--fields' ? fieldsOf(command) : await valuesOf(open, ctx)
    ).filter(({ word }) => !list.split(',').includes(word));
    return values.map((value) =>
      value === FILES ? value : { ...value, word: flag + list + value.word },
    );
  }
  const help = command.createHelp();
  if (last.startsWith('-') && !isHelp) {
    const options = [
      ...help.visibleOptions(command),
      ...(command === root ? [] : help.visibleOptions(root)),
    ];
    return options.flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word === undefined ? [] : [{ word, title: description }])),
    );
  }
  const children = help
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || (command === root && !isHelp))
    .map((child): Candidate => ({ word: child.name(), title: child.description() }));
  if (isHelp && count > 0) return [];
  if (isHelp && command === root) return [...children, ...TOPICS.map((word) => ({ word }))];
  if (isHelp || children.length > 0) return children;
  const { registeredArguments: parameters } = command;
  const parameter = parameters[count] ?? parameters.find(({ variadic }) => variadic);
  return parameter === undefined ? [] : await valuesOf(parameter, ctx, pathOf(command));
}

/** The fields of the first record that the help of the command names. */
function fieldsOf(command: Command): Candidate[] {
  let first: RecordShape | undefined;
  const take = (shape: RecordShape): string => ((first ??= shape), '');
  explanationOf(command)?.json?.({
    objectForm: take,
    listForm: take,
    changeForms: (shape) => [take(shape)],
  });
  return (first?.fields ?? []).map(({ name }) => ({ word: name }));
}

async function valuesOf(
  parameter: Option | Argument,
  ctx: Context,
  command = '',
): Promise<Candidate[]> {
  const [name = '', form = ''] =
    'flags' in parameter
      ? [parameter.long, /[<[]([^>\]]+)/.exec(parameter.flags)?.[1]]
      : [`${command} ${parameter.name()}`, parameter.name()];
  const names = NAMES.find(([pattern]) => pattern.test(name))?.[1];
  // Shells expand what they are given: a name is a plain word, which may have {name} in it, or is
  // left out.
  if (names !== undefined)
    return (await names(ctx)).filter(({ word }) => /^[\w.@/]([\w.@:+/-]|\{\w+\})*$/.test(word));
  const { words } = (parameter.parseArg ?? {}) as Partial<WithWords>;
  if (words !== undefined) return words.map((word) => ({ word }));
  // `<file|->`, `<path>`, `<tasks.jsonl|->`; `<id>` and `<n>` stand for texts that cannot be
  // listed.
  if (!/(^|\|)(file|path|dir|src|dst|[^|]+\.jsonl?)(\||$)/.test(form)) return [];
  return name === '--replay' ? [{ word: 'demo' }, FILES] : [FILES];
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null
    ? command.name()
    : `${pathOf(parent)} ${command.name()}`;
}

const NAMES: readonly (readonly [
  parameter: RegExp,
  names: (ctx: Context) => Promise<Candidate[]>,
])[] = [
  [
    /^--profile$|^(profile (show|use|rename|delete)|login|logout) name$/,
    async (ctx) =>
      [...(await (await ctx.profiles()).list()), { name: 'local' }].map(({ name }) => ({
        word: name,
      })),
  ],
  [
    /^api path$/,
    (ctx) =>
      fromLocal(ctx, async (server) => {
        const { json } = await server.call({
          method: 'GET',
          path: '/openapi.json',
          headers: {},
          body: null,
        });
        return Object.keys((json as { paths: object }).paths).map((word) => ({ word }));
      }),
  ],
  [
    /^settings (?!profile).* key/,
    async () =>
      (await import('../domain/settings-fields.ts')).SETTINGS_FIELDS.map(
        ({ name, description }) => ({
          word: name,
          title: description,
        }),
      ),
  ],
  [
    /^conv .* id$/,
    (ctx) =>
      afterLast(ctx, async ({ conversations }) => {
        const { items } = await conversations.list({ pageSize: NEWEST }, null);
        return items.map(({ id, title, status }) => ({
          word: id,
          title: [status, title].filter(Boolean).join(' · '),
        }));
      }),
  ],
  [/^--sandbox$/, (ctx) => fromLocal(ctx, listSandboxes)],
  [/^sandbox .* id$/, (ctx) => afterLast(ctx, listSandboxes)],
  [
    /^--(not-)?spec$|^specs .* id$/,
    (ctx) =>
      fromLocal(ctx, async ({ specs }) =>
        (await specs.list(null, NEWEST)).items.map(({ id }) => ({ word: id })),
      ),
  ],
  [
    /^secret .* name$/,
    (ctx) =>
      fromLocal(ctx, async ({ secrets }) =>
        (await secrets.list(null, NEWEST)).items.map(({ name, description }) => ({
          word: name,
          title: description,
        })),
      ),
  ],
  [
    /^settings profile .* name$/,
    (ctx) =>
      fromLocal(ctx, async ({ modelProfiles }) =>
        (await modelProfiles.list()).map(({ name, model }) => ({ word: name, title: model })),
      ),
  ],
];

async function listSandboxes({ sandboxes }: Server): Promise<Candidate[]> {
  const { items } = await sandboxes.list(null, NEWEST, 'none');
  return items.map(({ id, status }) => ({ word: id, title: status }));
}

/** The local service is read first: its conversation is known under its name, and not its URL. */
async function afterLast(
  ctx: Context,
  read: (server: Server) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const listed = await fromLocal(ctx, read);
  const url = (await activeUrl(ctx)) ?? (await (await ctx.localService()).running())?.url;
  const last = url === undefined ? null : await ctx.lastConversation.get(new URL(url).origin);
  return [...(last === null ? [] : [{ word: '@last', title: last }]), ...listed];
}

async function activeUrl(ctx: Context): Promise<string | null> {
  try {
    return (await ctx.plan()).base_url;
  } catch (error) {
    // In a completion stderr is not a terminal, where no server is assumed; the command that is
    // typed will have one.
    if (isAppError(error) && error.kind === 'config') return null;
    throw error;
  }
}

async function fromLocal(
  ctx: Context,
  read: (server: Server) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const running =
    (await activeUrl(ctx)) === null ? await (await ctx.localService()).running() : null;
  if (running === null) return [];
  const { beforeTime } = await import('../runs/deadline.ts');
  const time = new AbortController();
  const target = { base_url: running.url, key: running.key, local: true };
  const answer = ctx
    .connect(target, time.signal)
    .then(async (server) => read(await server.withSignal(time.signal)));
  try {
    const found = await beforeTime(ctx, 1_000, [answer]);
    return found === 'time' ? [] : found;
  } finally {
    time.abort();
    answer.catch(() => undefined);
  }
}
