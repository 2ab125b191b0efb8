/** Pages of help, at most 80 columns wide, also on a wider terminal. */
import type { Command, Help } from 'commander';
import { EXIT_CODES } from '../../base/errors.ts';
import { bulkShape } from '../../output/view.ts';
import { explanationOf, TOPICS, type CommandHelp, type JsonForms } from '../shared/declare.ts';

type Item = readonly [term: string, description: string];

export interface List {
  title: string;
  items: readonly Item[];
  /** Descriptions stand below their terms: for terms that are commands. */
  below?: true;
  /** Columns of the terms; without it as many as the longest one takes. */
  termWidth?: number;
}

export type Page = readonly (string | List)[];

/** Forms of JSON output: the noun of a view stands for its members (`acs help output`). */
export const JSON_FORMS: JsonForms = {
  objectForm({ noun }, ...members) {
    const more = members.map((name) => `"${name}"`).join(', ');
    return more === '' ? `<${noun}>` : `<${noun}> plus ${more}`;
  },
  listForm: (...shapes) =>
    `{"items":[${shapes.map(({ noun }) => `<${noun}>`).join(' or ')},…],"has_more":false}`,
  changeForms: (shape, [one, several] = ['one id', 'several ids, or selectors']) => [
    [one, JSON_FORMS.objectForm(shape, 'changed')],
    [several, JSON_FORMS.objectForm(bulkShape)],
  ],
};

const ROOT_END: Page = [
  {
    title: 'Examples:',
    items: [
      [
        'acs conv new --replay demo --follow',
        'run the built-in demo; needs no account and no model',
      ],
      [
        "acs conv new 'Fix the failing tests' --wait",
        'let an agent work on this checkout, and wait',
      ],
      ['acs conv list --status running,waiting', 'list the conversations that run or wait for you'],
    ],
    below: true,
  },
  {
    title: 'Read on:',
    items: [
      ['acs help <command>', 'flags, output, exit codes and examples of a command'],
      ['acs help <topic>', `topics: ${TOPICS.join(', ')}`],
    ],
  },
];

export function commandHelp(command: Command, columns: number | undefined): string {
  const layout = layoutFor(command, columns);
  const isRoot = command.parent === null;
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent)
    names.unshift(each.name());
  const usage = `Usage: ${names.join(' ')} ${command.usage().replace('[options]', '[flags]')}`;
  const aliases =
    command.aliases().length === 0 ? '' : `\nAliases: ${command.aliases().join(', ')}`;

  const commands = layout
    .visibleCommands(command)
    .filter((each) => isRoot || each.name() !== 'help');
  const commandLists = [
    ...layout.groupItems(commands, commands, (each) => each.helpGroup() || 'Commands:'),
  ].map(([title, group]): List => ({
    title,
    items: group.map((each): Item => {
      const words = each.registeredArguments.map((argument) => {
        const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
        return argument.required ? `<${name}>` : `[${name}]`;
      });
      return [[each.name(), ...words].join(' '), each.description()];
    }),
  }));
  const argumentRows = layout
    .visibleArguments(command)
    .map((argument): Item => [layout.argumentTerm(argument), layout.argumentDescription(argument)]);
  // `--help` is listed with the flags of the root.
  const options = layout.visibleOptions(command).filter(({ long }) => isRoot || long !== '--help');
  const optionLists = [
    ...layout.groupItems(options, options, (option) => option.helpGroupHeading ?? 'Flags:'),
  ].map(([title, group]): List => ({
    title,
    items: group.map((option): Item => [
      layout.optionTerm(option),
      layout.optionDescription(option),
    ]),
  }));
  const help = explanationOf(command);
  const examples = Object.entries(help?.examples ?? {});
  const page: Page = [
    command.description(),
    usage + aliases,
    ...aligned(commandLists),
    ...aligned([
      ...(argumentRows.length === 0 ? [] : [{ title: 'Arguments:', items: argumentRows }]),
      ...optionLists,
    ]),
    ...(isRoot ? ROOT_END : []),
    ...(help === undefined
      ? []
      : [...(help.notes ?? []), { title: 'Examples:', items: examples, below: true as const }]),
    ...(isRoot
      ? []
      : [[...(help === undefined ? [] : contract(help)), globalFlags(help)].join('\n')]),
  ];
  return pageText(page, layout);
}

function aligned(lists: readonly List[]): List[] {
  const termWidth = termWidthOf(lists.flatMap(({ items }) => items));
  return lists.map((list) => ({ ...list, termWidth }));
}

function contract({ json, exits = [], onlyExits, failureCode }: CommandHelp): string[] {
  const forms = (json?.(JSON_FORMS) ?? []).map((form) =>
    typeof form === 'string' ? form : form.join(': '),
  );
  const kinds = onlyExits === undefined ? exits : (['ok', ...onlyExits] as const);
  const codes = kinds.map((kind) => [EXIT_CODES[kind], kind] as const).sort(([a], [b]) => a - b);
  const listed = codes.map((each) => each.join(' ')).join(', ');
  let exitCodes =
    onlyExits === undefined ? `${listed && `${listed}, and `}those of every command` : listed;
  if (failureCode !== undefined) {
    exitCodes =
      `that of the program; ${failureCode} when acs fails (the error has its kind), ` +
      `${EXIT_CODES.interrupted} interrupted before the program began`;
  }
  return [
    ...(forms.length === 0 ? [] : [`JSON (acs help output): ${forms.join('; ')}`]),
    `Exit codes (acs help exit-codes): ${exitCodes}`,
  ];
}

/** Names the flags that matter to the command: what it prints, and whether it writes. */
function globalFlags({ json, exits = [], isRaw }: Partial<CommandHelp> = {}): string {
  const forms = (json?.(JSON_FORMS) ?? []).join();
  const isWrite = /"changed"|bulk result/.test(forms) || exits.includes('unknown-outcome');
  const flags = [
    ...(forms === '' ? [] : ['--json']),
    ...(/<(?!name>|value>)/.test(forms) && !isRaw ? ['-q', '--fields'] : []),
    ...(isWrite ? ['--dry-run'] : []),
  ];
  return flags.length === 0
    ? 'Global flags: acs --help'
    : `Global flags: ${flags.join(', ')} and others (acs --help)`;
}

const WIDEST = 80;
const INDENT = 2;
const GAP = 2;
/** A description with less room than this, or than its longest word, stands below its term. */
const LEAST_DESCRIPTION = 30;
/** A longer term has a line of its own, so that it does not move all descriptions to the right. */
const LONGEST_TERM = 30;

type Layout = Help & { helpWidth: number };

export function layoutFor(command: Command, columns: number | undefined): Layout {
  const helpWidth = Math.min(columns || WIDEST, WIDEST);
  return Object.assign(command.createHelp(), { helpWidth, minWidthToWrap: 1, formatItem });
}

export function pageText(page: Page, layout: Layout): string {
  const parts = page.map((part) => {
    if (typeof part === 'string') return indented(part, 0, layout);
    const width = part.below ? layout.helpWidth : (part.termWidth ?? termWidthOf(part.items));
    const lines = part.items.map(([term, description]) =>
      layout.formatItem(term, width, description, layout),
    );
    return [indented(part.title, 0, layout), ...lines].join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}

function termWidthOf(items: readonly Item[]): number {
  return Math.max(
    0,
    ...items.map(([term]) => term.length).filter((length) => length <= LONGEST_TERM),
  );
}

/** Commander's own, but for a long term, and for a description without room beside its term. */
function formatItem(this: Layout, term: string, termWidth: number, description: string): string {
  const head = indented(term, INDENT, this);
  if (description === '') return head;
  const longestWord = Math.max(...description.split(/\s+/).map((word) => word.length));
  const isBelow =
    this.helpWidth - INDENT - termWidth - GAP < Math.max(LEAST_DESCRIPTION, longestWord);
  const column = isBelow ? 3 * INDENT : INDENT + termWidth + GAP;
  const text = indented(description, column, this);
  return isBelow || term.length > termWidth
    ? `${head}\n${text}`
    : head.padEnd(column) + text.slice(column);
}

function indented(text: string, columns: number, layout: Layout): string {
  const lines = layout.boxWrap(text, Math.max(layout.helpWidth - columns, 1)).split('\n');
  return lines.map((line) => (line === '' ? '' : ' '.repeat(columns) + line)).join('\n');
}
