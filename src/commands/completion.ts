/** `acs __complete` prints lines of a word, a tab, its description; `:files` stands for files. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command, Argument, Option } from 'commander';
import type { Context } from './context.ts';
import type { Server } from '../client/shared/server.ts';
import type { RecordShape } from '../output/view.ts';
import { explain, explanationOf, childNamed, TOPICS } from './shared/declare.ts';
import { oneOf, type WithWords } from './shared/option-parsers.ts';
import { isOfKind, nullIf } from '../base/errors.ts';
import { safeLine } from '../base/text/safe-text.ts';

/** In `completions/`, with the name that the shell looks for. */
const SCRIPTS = {
  bash: 'acs.bash',
  zsh: '_acs',
  fish: 'acs.fish',
  powershell: 'acs.ps1',
};
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export function declare(command: Command, ctx: Context): void {
  command.argument('<shell>', SHELLS.join(', '), oneOf(...SHELLS));
  explain(command, {
    notes: [
      'Completes commands, flags, the values of flags, names of profiles and settings, and, ' +
        'while the local service is running, its ids with their titles, newest first, its ' +
        'paths for `acs api`, and the models of its endpoint. It starts nothing, and sends ' +
        'requests only to the local service and this endpoint; for other servers it offers ' +
        '@last alone. --branch offers the branches of the checkout and, as of the last fetch, ' +
        'of its remote.',
    ],
    examples: {
      'acs completion bash > ~/.local/share/bash-completion/completions/acs':
        'bash; create the folder first (mkdir -p); start a new shell to use it',
      'acs completion zsh > "${fpath[1]}/_acs"': 'zsh',
      'acs completion fish > ~/.config/fish/completions/acs.fish': 'fish; create the folder first',
    },
  });
  command.action(async (shell: keyof typeof SCRIPTS) => {
    ctx.out.check(null, 'raw');
    const { root } = ctx.local.machine();
    await ctx.out.raw(await readFile(path.join(root, 'completions', SCRIPTS[shell])));
  });
  const root = command.parent as Command;
  root
    .command('__complete [words...]', { hidden: true })
    // Prints nothing on a failure: a shell inserts what it prints. The last word is incomplete.
    .action(async (words: readonly string[]) => {
      const last = (words.at(-1) ?? '').trim();
      const all = await candidates(words.slice(0, -1), last, root, ctx).catch(() => []);
      const lines = all
        .filter((each) => each === FILES || each[0].startsWith(last))
        .map(([word, title]) => `${word}${title ? `\t${safeLine(title)}` : ''}\n`);
      if (lines.length > 0) await ctx.out.raw(lines.join(''));
    });
}

const NEWEST = 100;

type Candidate = readonly [word: string, title?: string | null];

const FILES: Candidate = [':files'];

async function candidates(
  before: readonly string[],
  last: string,
  root: Command,
  ctx: Context,
): Promise<Candidate[]> {
  const [prefix = '', flag] = /^(--[^=]+)=/.exec(last) ?? [];
  const position = positionAfter(flag === undefined ? before : [...before, flag], root);
  if (position === null) return [];
  const { command, values, operands, open } = position;
  const own: Context = { ...ctx, servers: ctx.servers.of(values) };
  if (open !== undefined) {
    const list = last.slice(prefix.length).replace(/[^,]*$/, '');
    const possible =
      open.long === '--fields' ? fieldsOf(command) : await valuesOf(open, own, pathOf(command));
    return possible
      .filter(([word]) => !list.split(',').includes(word))
      .map((each) => (each === FILES ? each : [prefix + list + each[0], each[1]]));
  }
  if (last.startsWith('-')) {
    const options = [command, ...(command === root ? [] : [root])].flatMap((each) =>
      each.createHelp().visibleOptions(each),
    );
    return options.flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word === undefined ? [] : [[word, description] as const])),
    );
  }
  if (command.parent === root && command.name() === 'help') return helpPages(root, operands);
  const children = childrenOf(command);
  if (children.length > 0) return children;
  const { registeredArguments: parameters } = command;
  const parameter = parameters[operands.length] ?? parameters.find(({ variadic }) => variadic);
  return parameter === undefined ? [] : await valuesOf(parameter, own, pathOf(command));
}

interface Position {
  command: Command;
  /** The flags that name a server. */
  values: { profile?: string; baseUrl?: string };
  operands: string[];
  /** The flag whose value the next word is. */
  open: Option | undefined;
}

/** Null after `--`: the words are those of another program. */
function positionAfter(words: readonly string[], root: Command): Position | null {
  const position: Position = { command: root, values: {}, operands: [], open: undefined };
  for (const word of words.flatMap((each) => /^(--[^=]+)=(.*)$/s.exec(each)?.slice(1) ?? each)) {
    const { command, open } = position;
    const child = childNamed(command, word);
    if (open !== undefined) {
      if (open.long === '--profile') position.values.profile = word;
      if (open.long === '--base-url') position.values.baseUrl = word;
      position.open = undefined;
    } else if (word === '--') return null;
    else if (/^-./.test(word))
      position.open = [...command.options, ...root.options].find(
        ({ short, long, required, optional }) =>
          (short === word || long === word) && (required || optional),
      );
    else if (child === undefined) position.operands.push(word);
    else position.command = child;
  }
  return position;
}

function childrenOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || command.parent === null)
    .map((child) => [child.name(), child.description()]);
}

/** @param operands of `help`: a command, word by word, or a topic */
function helpPages(root: Command, operands: readonly string[]): Candidate[] {
  let command: Command | undefined = root;
  for (const word of operands) command = command && childNamed(command, word);
  if (command === undefined) return [];
  const children = childrenOf(command).filter(([word]) => word !== 'help');
  return command === root ? [...children, ...TOPICS.map((word) => [word] as const)] : children;
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
  return (first?.fields ?? []).map(({ name }) => [name]);
}

async function valuesOf(
  parameter: Option | Argument,
  ctx: Context,
  command: string,
): Promise<Candidate[]> {
  const [name = '', form = ''] =
    'flags' in parameter
      ? [parameter.long ?? '', /[<[]([^>\]]+)/.exec(parameter.flags)?.[1]]
      : [parameter.name(), parameter.name()];
  const names = NAMES.find(([pattern]) => pattern.test(`${command} ${name}`))?.[1];
  // Shells expand what they insert: only plain words, also with {name} in them, are offered.
  if (names !== undefined)
    return (await names(ctx)).filter(([word]) => /^[\w.@/]([\w.@:+/-]|\{\w+\})*$/.test(word));
  const { words } = (parameter.parseArg ?? {}) as Partial<WithWords>;
  if (words !== undefined) return words.map((word) => [word]);
  // `<file|->`, `<path>`, `<tasks.jsonl|->`.
  if (!/(^|\|)(file|path|dir|src|dst|[^|]+\.jsonl?)(\||$)/.test(form)) return [];
  return name === '--replay' ? [['demo'], FILES] : [FILES];
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
    / --profile$|^(profile (show|use|rename|delete)|login|logout) name$/,
    async (ctx) =>
      [...(await (await ctx.profiles.store()).list()), { name: 'local' }].map(({ name }) => [name]),
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
        return Object.keys((json as { paths: object }).paths).map((word) => [word]);
      }),
  ],
  [
    /^settings (?!profile).* key/,
    async () =>
      (await import('../domain/settings-fields.ts')).SETTINGS_FIELDS.map(
        ({ name, description }) => [name, description],
      ),
  ],
  [
    /^conv .* id$/,
    (ctx) =>
      afterLast(ctx, async ({ conversations }) => {
        const { items } = await conversations.list({ pageSize: NEWEST }, null);
        return items.map(({ id, title, status }) => [
          id,
          [status, title].filter(Boolean).join(' · '),
        ]);
      }),
  ],
  [
    /^conv (new|chat) --branch$/,
    async ({ git }) => (await git.localBranches()).map((word) => [word]),
  ],
  [
    / --model$/,
    (ctx) =>
      fromLocal(ctx, async (server) => {
        const { listModels } = await import('./shared/model-check.ts');
        return (await listModels(ctx, server, null, NEWEST)).items.map(({ id }) => [id]);
      }),
  ],
  [/ --sandbox$/, (ctx) => fromLocal(ctx, listSandboxes)],
  [/^sandbox .* id$/, (ctx) => afterLast(ctx, listSandboxes)],
  [
    / --spec$|^specs .* id$/,
    (ctx) =>
      fromLocal(ctx, async ({ specs }) =>
        (await specs.list(null, NEWEST)).items.map(({ id }) => [id]),
      ),
  ],
  [
    /^secret .* name$/,
    (ctx) =>
      fromLocal(ctx, async ({ secrets }) =>
        (await secrets.list(null, NEWEST)).items.map(({ name, description }) => [
          name,
          description,
        ]),
      ),
  ],
  [
    /^settings profile .* name$/,
    (ctx) =>
      fromLocal(ctx, async ({ modelProfiles }) =>
        (await modelProfiles.list()).map(({ name, model }) => [name, model]),
      ),
  ],
];

async function listSandboxes({ sandboxes }: Server): Promise<Candidate[]> {
  const { items } = await sandboxes.list(null, NEWEST, 'none');
  return items.map(({ id, status }) => [id, status]);
}

/** The local service is read first: its conversation is known under its name, and not its URL. */
async function afterLast(
  ctx: Context,
  read: (server: Server) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const listed = await fromLocal(ctx, read);
  const url = (await activeUrl(ctx)) ?? (await (await ctx.local.service()).running())?.url;
  const last =
    url === undefined ? null : await ctx.servers.lastConversation.get(new URL(url).origin);
  return last === null ? listed : [['@last', last], ...listed];
}

async function activeUrl(ctx: Context): Promise<string | null> {
  // No server is assumed here, because stderr is not a terminal.
  const plan = await ctx.servers.plan().catch(nullIf(isOfKind('config')));
  return plan?.base_url ?? null;
}

async function fromLocal(
  ctx: Context,
  read: (server: Server) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const running =
    (await activeUrl(ctx)) === null ? await (await ctx.local.service()).running() : null;
  if (running === null) return [];
  const { beforeTime } = await import('../runs/deadline.ts');
  const time = new AbortController();
  const target = { base_url: running.url, key: running.key, local: true };
  const answer = ctx.servers
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
