/** The help of one command. Loaded when help is printed. */
import type { Command, Option } from 'commander';
import { EXIT_CODES } from '../../errors.ts';
import { bulkShape } from '../../output/bulk.ts';
import { explanationOf, type CommandHelp, type Example, type JsonForm, type JsonForms } from '../declare.ts';
import { layoutFor, pageText, termWidthOf, type Layout } from './layout.ts';
import type { Item, List, Page } from './page.ts';
import { TOPICS } from '../help-topics.ts';

/** The forms of JSON output: the noun of a view stands for its members, which `acs help output` lists. */
export const JSON_FORMS: JsonForms = {
  objectForm({ noun }, ...members) {
    const more = members.map((name) => `"${name}"`).join(', ');
    return more === '' ? `<${noun}>` : `<${noun}> plus ${more}`;
  },
  listForm: (...shapes) => `{"items":[${shapes.map(({ noun }) => `<${noun}>`).join(' or ')},…],"has_more":false}`,
  changeForms: (shape, [one, several] = ['one id', 'several ids, or selectors']) => [
    [one, JSON_FORMS.objectForm(shape, 'changed')],
    [several, JSON_FORMS.objectForm(bulkShape)],
  ],
};

/** Exit codes of every command. */
const ALWAYS: (keyof typeof EXIT_CODES)[] = ['ok', 'usage', 'config', 'auth', 'server', 'network'];

const ROOT_EXAMPLES: Example[] = [
  { command: 'acs conv new --replay demo --follow', does: 'run the built-in demo; needs no account and no model' },
  { command: "acs conv new 'Fix the failing tests' --wait", does: 'let an agent work on this checkout, and wait' },
  { command: 'acs conv list --status running,waiting', does: 'list the conversations that run or wait for you' },
];

/** @param columns of the terminal; undefined where there is none */
export function commandHelp(command: Command, columns: number | undefined): string {
  const layout = layoutFor(command, columns);
  const help = explanationOf(command);
  const rest =
    command.parent === null ? rootPage() : [...(help === undefined ? [] : pageOf(help)), globalFlags(command)];
  return pageText([...synopsis(command, layout), ...rest], layout);
}

function synopsis(command: Command, layout: Layout): Page {
  return [
    command.description(),
    usage(command),
    ...aligned(commandLists(command, layout)),
    ...aligned([...argumentList(command, layout), ...optionLists(command, layout)]),
  ];
}

/** With all descriptions in one column. */
function aligned(lists: readonly List[]): List[] {
  const termWidth = termWidthOf(lists.flatMap(({ items }) => items));
  return lists.map((list) => ({ ...list, termWidth }));
}

function usage(command: Command): string {
  const [first, ...aliases] = [command.name(), ...command.aliases()];
  const words = [first, command.usage().replace('[options]', '[flags]')];
  for (let parent = command.parent; parent !== null; parent = parent.parent) words.unshift(parent.name());
  const line = `Usage: ${words.join(' ')}`;
  return aliases.length === 0 ? line : `${line}\nAliases: ${aliases.join(', ')}`;
}

function commandLists(command: Command, layout: Layout): List[] {
  const isRoot = command.parent === null;
  const visible = layout.visibleCommands(command).filter((each) => isRoot || each.name() !== 'help');
  const groups = layout.groupItems(visible, visible, (each) => each.helpGroup() || 'Commands:');
  return [...groups].map(([title, commands]) => ({
    title,
    items: commands.map((each): Item => [nameAndArguments(each), each.description()]),
  }));
}

function nameAndArguments(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...words].join(' ');
}

function argumentList(command: Command, layout: Layout): List[] {
  const items = layout
    .visibleArguments(command)
    .map((argument): Item => [layout.argumentTerm(argument), layout.argumentDescription(argument)]);
  return items.length === 0 ? [] : [{ title: 'Arguments:', items }];
}

/** `--help` is a flag of every command: it is listed with those of the root. */
function optionLists(command: Command, layout: Layout): List[] {
  const visible = layout
    .visibleOptions(command)
    .filter((option) => command.parent === null || option.long !== '--help');
  const groups = layout.groupItems(visible, visible, (option: Option) => option.helpGroupHeading ?? 'Flags:');
  return [...groups].map(([title, options]) => ({
    title,
    items: options.map((option): Item => [layout.optionTerm(option), layout.optionDescription(option)]),
  }));
}

function pageOf({ notes = [], json, exits = [], onlyExits, failureCode, examples }: CommandHelp): Page {
  const kinds = onlyExits === undefined ? [...ALWAYS, ...exits] : (['ok', ...onlyExits] as const);
  const codes = failureCode === undefined ? codesOf(kinds) : programCodes(failureCode);
  return [
    ...notes.map((note) => (typeof note === 'string' ? note : { title: note.title, items: note.items })),
    ...(json === undefined
      ? []
      : [{ title: 'JSON (acs help output lists the members):', items: json(JSON_FORMS).map(jsonItem) }]),
    `Exit codes (acs help exit-codes): ${codes}`,
    exampleList(examples),
  ];
}

function codesOf(kinds: readonly (keyof typeof EXIT_CODES)[]): string {
  return [...kinds]
    .map((kind) => [EXIT_CODES[kind], kind] as const)
    .sort((a, b) => a[0] - b[0])
    .map(([code, kind]) => `${code} ${kind}`)
    .join(', ');
}

function programCodes(failureCode: number): string {
  const { unsupported, interrupted } = EXIT_CODES;
  return `that of the program; ${failureCode} when acs fails (the error has its kind), ${unsupported} unsupported, ${interrupted} interrupted before the program began`;
}

function jsonItem(form: JsonForm): Item {
  return typeof form === 'string' ? [form, ''] : form;
}

function exampleList(examples: readonly Example[]): List {
  return { title: 'Examples:', items: examples.map(({ command, does }) => [command, does]), below: true };
}

function rootPage(): Page {
  return [
    exampleList(ROOT_EXAMPLES),
    {
      title: 'Read on:',
      items: [
        ['acs help <command>', 'flags, output, exit codes and examples of a command'],
        ['acs help <topic>', `topics: ${TOPICS.join(', ')}`],
      ],
    },
  ];
}

function globalFlags(command: Command): string {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const names = root.options.map((option) => option.long).filter((name) => name !== '--version');
  return `Global flags (acs --help): ${[...names, '--help'].join(' ')}`;
}
