import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, DryRunStop, isOfKind } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import {
  differencesOf,
  isDefault,
  settingsRecord,
  unstoredOf,
  type RequestedSettings,
} from '../../domain/settings-diff.ts';
import { MCP_CONFIG } from '../../domain/mcp-config.ts';
import type { JsonValue, SettingsField, SettingsSnapshot } from '../../domain/settings.ts';
import type { View } from '../../output/view.ts';
import { isForPrograms } from '../../base/text/notice.ts';
import { explain } from '../shared/declare.ts';
import { nameOfInput, readText, warnOfUnmasked } from '../shared/files.ts';
import { modelChange } from './model.ts';
import { declareModelProfile } from './profile.ts';
import {
  findField,
  parseDocument,
  readAssignments,
  requireField,
  valuesOf,
  valuesOfDocument,
} from './values.ts';

export const fieldView: View<SettingsField> = {
  noun: 'setting',
  id: (field) => field.name,
  fields: [
    { name: 'name', weight: 0 },
    { name: 'type', weight: 0 },
    { name: 'nullable' },
    { name: 'secret', weight: 0 },
    { name: 'default' },
    { name: 'choices', json: { list: true } },
    { name: 'minimum', as: 'number' },
    { name: 'maximum', get: () => null, as: 'number' },
    { name: 'description', weight: 2 },
  ],
  table: ['name', 'type', 'secret', 'default', 'description'],
};

const ALL_SETTINGS = '{"<name>":<value>,…} of all settings, plus "changed"';
const ALLOW_LOSS = [
  '--allow-loss',
  'write even when a secret that cannot be read back is lost',
] as const;
const NO_CHECK = ['--no-check', 'store llm_… without a call of the model'] as const;

interface WriteOptions {
  file?: string;
  allowLoss?: boolean;
  check: boolean;
}

export function declare(command: Command, ctx: Context): void {
  declareGet(command, ctx);
  declareSet(command, ctx);
  declareUnset(command, ctx);
  declareEdit(command, ctx);
  declareSchema(command, ctx);
  declareModelProfile(command, ctx);
}

function declareGet(parent: Command, ctx: Context): void {
  const command = parent
    .command('get')
    .aliases(['show', 'view', 'list', 'ls'])
    .description('show settings');
  command
    .argument('[key...]', 'names of settings (acs settings schema); default: all')
    .option('--all', 'on a terminal: also settings that have their defaults');
  explain(command, {
    notes: [
      'In a pipe every line is a name, a tab and a value; for one key the line is the value alone.',
      'A secret is shown as (set). Null means not set, or not reported by the server.',
    ],
    json: () => ['{"<name>":<value>,…}'],
    exits: ['not-found', 'unsupported'],
    examples: {
      'acs settings get': 'show what is set, in a pipe all settings',
      'acs settings get max_iterations --format tsv': 'print one value',
    },
  });
  command.action((keys: string[], { all }: { all?: boolean }) => getSettings(ctx, keys, all));
}

async function getSettings(
  ctx: Context,
  keys: readonly string[],
  withDefaults = false,
): Promise<void> {
  const { fields, snapshot } = await readSettings(ctx);
  const all = settingsRecord(snapshot, fields);
  const entries = keys.map((key): [string, JsonValue] => {
    const { values } = snapshot;
    // What the server has beyond its own schema can be read, though not set.
    if (!findField(fields, key) && Object.hasOwn(values, key)) return [key, values[key] ?? null];
    return [key, all[requireField(fields, key, 'not-found').name] ?? null];
  });
  const record = keys.length === 0 ? all : Object.fromEntries(entries);
  const isTable =
    keys.length === 0 && ctx.out.format === 'table' && ctx.globals.fields === undefined;
  const names = Object.keys(record).filter((name) => !isTable || record[name] !== null);
  if (!isTable || withDefaults || !ctx.out.onTerminal)
    return await printSettings(ctx, names, record);
  const set = fields.filter((field) => !isDefault(all[field.name] ?? null, field));
  const setNames = set.map(({ name }) => name);
  await printSettings(ctx, setNames, record);
  const left = names.length - setNames.length;
  const text = `${left} more settings have their defaults: acs settings get --all`;
  if (left > 0) await ctx.notice(text);
}

function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('change the named settings');
  command
    .argument(
      '[key=value...]',
      'key=value, key=@file, key=- for stdin, or a secret alone to be asked for it',
    )
    .option(
      '--file <settings.json>',
      'read a JSON object of settings, or - for stdin; arguments take precedence',
    )
    .option(...ALLOW_LOSS)
    .option(...NO_CHECK);
  explain(command, {
    notes: [
      'Values are checked before they are sent. The changes are printed to stderr; ' +
        'unchanged settings are not written.',
      'A secret is read from a file, stdin or a prompt, never from the command line.',
      'On the local service, a change of llm_model, llm_base_url or llm_api_key is stored ' +
        'when the model has answered one call with a tool.',
      'A secret that is null or masked in --file is left unchanged.',
      'mcp_config has the form of the server: on V0 three lists (sse_servers, ' +
        'shttp_servers, stdio_servers), elsewhere an object of servers by name.',
    ],
    json: () => [ALL_SETTINGS],
    exits: ['not-found', 'conflict', 'rate-limited', 'unsupported'],
    examples: {
      'acs settings set max_iterations=7': 'change one setting',
      'acs settings set llm_model=openai/gpt-4o llm_api_key=@key.txt': 'read the key from a file',
      'acs settings set llm_model=qwen3 llm_base_url=http://127.0.0.1:11434/v1':
        'a model of Ollama, for the local service',
    },
  });
  command.action(async (words: readonly string[], options: WriteOptions) => {
    const { file } = options;
    if (words.length === 0 && file === undefined)
      throw new AppError('usage', 'nothing to set', {
        hint: 'acs settings set key=value, or --file settings.json',
      });
    const assignments = readAssignments(words, file === '-');
    const document =
      file === undefined ? {} : parseDocument(await readText(ctx, file), nameOfInput(file));
    const current = await readSettings(ctx);
    const { fields, snapshot } = current;
    const set = new Map<SettingsField, JsonValue>([
      ...valuesOfDocument(fields, document, settingsRecord(snapshot, fields)),
      ...(await valuesOf(ctx, fields, assignments)),
    ]);
    await applySettings(ctx, current, { set, unset: [] }, options);
  });
}

function declareUnset(parent: Command, ctx: Context): void {
  const command = parent.command('unset').aliases(['rm', 'remove', 'delete']);
  command
    .description('clear settings, or reset them to their defaults')
    .argument('<key...>', 'names of settings (acs settings schema)')
    .option(...ALLOW_LOSS)
    .option(...NO_CHECK);
  explain(command, {
    json: () => [ALL_SETTINGS],
    exits: ['conflict', 'unsupported'],
    examples: {
      'acs settings unset llm_base_url': "use the provider's own URL again",
      'acs settings unset search_api_key': 'delete that key on the server',
    },
  });
  command.action(async (keys: readonly string[], options: WriteOptions) => {
    const current = await readSettings(ctx);
    const { fields } = current;
    const unset = [...new Set(keys.map((key) => requireField(fields, key)))];
    if (unset.some(({ name }) => name === 'secrets_store'))
      throw new AppError(
        'usage',
        'secrets_store is changed with acs secret delete and acs git-provider delete',
      );
    await applySettings(ctx, current, { set: new Map(), unset }, options);
  });
}

function declareEdit(parent: Command, ctx: Context): void {
  const command = parent.command('edit').description('edit settings in $VISUAL or $EDITOR');
  command.option(...ALLOW_LOSS).option(...NO_CHECK);
  explain(command, {
    notes: [
      'The file has all settings but the secrets. A removed line leaves the setting ' +
        'unchanged; null clears it.',
      'An invalid file opens the editor again. An unchanged file writes nothing.',
    ],
    json: () => [ALL_SETTINGS],
    exits: ['conflict', 'unsupported'],
    examples: {
      'acs settings edit': 'edit the settings',
      'EDITOR=nano acs settings edit -p work': 'edit the settings of another profile in nano',
    },
  });
  command.action(async (options: WriteOptions) => {
    if (!ctx.terminal.interactive)
      throw new AppError('usage', 'an editor needs a terminal', {
        hint: 'use acs settings set key=value or --file',
      });
    const current = await readSettings(ctx);
    const { fields, snapshot } = current;
    const shown = settingsRecord(
      snapshot,
      fields.filter((field) => !field.secret),
    );
    const prompt = await ctx.terminal.prompt();
    const initial = `${JSON.stringify(shown, null, 2)}\n`;
    let text = initial;
    for (;;) {
      text = await prompt.editor({ message: 'Settings', initial: text, extension: '.json' });
      try {
        const set =
          text === initial
            ? new Map()
            : valuesOfDocument(fields, parseDocument(text, 'the file'), shown);
        return await applySettings(ctx, current, { set, unset: [] }, options);
      } catch (error) {
        if (!isOfKind('usage')(error)) throw error;
        const { hint } = error.details;
        await ctx.warn(hint ? `${error.message} (${hint})` : error.message);
        if (!(await prompt.confirm({ message: 'Edit it again?', default: 'yes' })))
          throw new AppError('usage', 'nothing was changed, because the file is invalid');
      }
    }
  });
}

function declareSchema(parent: Command, ctx: Context): void {
  const command = parent
    .command('schema')
    .description('list the settings, with types, bounds and choices');
  command.argument('[key...]', 'names of settings; default: all');
  explain(command, {
    json: ({ listForm }) => [listForm(fieldView)],
    exits: ['unsupported'],
    examples: {
      'acs settings schema': 'list all settings of the server',
      'acs settings schema max_iterations --json': 'print the bounds of one setting',
    },
  });
  command.action(async (keys: string[]) => {
    ctx.out.check(fieldView, 'list');
    const fields = await (await ctx.servers.active()).settings.schema();
    const chosen = keys.length === 0 ? fields : keys.map((key) => requireField(fields, key));
    await ctx.out.list(fieldView, chosen, { has_more: false });
  });
}

interface ReadSettings {
  server: Server;
  fields: readonly SettingsField[];
  snapshot: SettingsSnapshot;
}

async function readSettings(ctx: Context): Promise<ReadSettings> {
  if (ctx.out.format === 'id')
    throw new AppError('usage', 'settings have no ids', { hint: 'use --format tsv' });
  const server = await ctx.servers.active();
  const [fields, snapshot] = await Promise.all([server.settings.schema(), server.settings.read()]);
  return { server, fields, snapshot };
}

async function applySettings(
  ctx: Context,
  current: ReadSettings,
  asked: RequestedSettings,
  { allowLoss, check }: WriteOptions,
): Promise<void> {
  const { server, fields, snapshot } = current;
  // JSON has the whole object, as of every write; a table and columns only what was named.
  const isWhole = isForPrograms(ctx.out.format) || ctx.globals.fields !== undefined;
  const named = [...asked.set.keys(), ...asked.unset];
  const names = (isWhole ? fields : named).map((field) => field.name);
  ctx.out.check(settingsView(names), 'item');
  const requested = await modelChange(ctx, current, asked, check);
  const differences = differencesOf(snapshot, requested);
  if (differences.length === 0) {
    await ctx.notice('nothing to change');
    if (ctx.globals.mode === 'dry-run') throw new DryRunStop();
    return await printSettings(ctx, names, settingsRecord(snapshot, fields), { changed: false });
  }
  // The difference is printed before the write, which may fail.
  for (const { field, value, before, after } of differences) {
    const { name, secret } = field;
    if (secret || name === MCP_CONFIG) await warnOfUnmasked(ctx, name, value);
    await ctx.notice(`${name}: ${before} -> ${after}`);
  }
  const ofEffect = (wanted: 'set' | 'unset') =>
    differences.filter(({ effect }) => effect === wanted);
  const set = Object.fromEntries(ofEffect('set').map(({ field, value }) => [field.name, value]));
  const unset = ofEffect('unset').map(({ field }) => field.name);
  const allow_loss = allowLoss ? 'allow' : 'refuse';
  const after = await server.settings.write({ set, unset, allow_loss });
  const unstored = unstoredOf(after, snapshot, differences);
  if (unstored.length > 0)
    throw new AppError(
      'server',
      `the server accepted the settings but stored other values: ${unstored.join('; ')}`,
      {
        hint: 'read them with: acs settings get',
      },
    );
  await printSettings(ctx, names, settingsRecord(after, fields), { changed: true });
}

type SettingsRecord = Record<string, JsonValue>;

function settingsView(names: readonly string[]): View<SettingsRecord> {
  const fields = names.map((name) => ({
    name,
    label: name,
    get: (record: SettingsRecord) => record[name] ?? null,
    show: (record: SettingsRecord) => record[name] ?? '(unset)',
  }));
  return { noun: 'settings', id: () => '', fields, table: names, tsv: names };
}

const rowView: View<{ name: string; value: unknown }> = {
  noun: 'setting',
  id: ({ name }) => name,
  fields: [
    { name: 'name', weight: 0 },
    { name: 'value', weight: 0 },
  ],
};

/** Lines of name and value; of a single setting in a pipe the value alone; in JSON one object. */
async function printSettings(
  ctx: Context,
  names: readonly string[],
  record: SettingsRecord,
  extra?: Record<string, unknown>,
): Promise<void> {
  const view = settingsView(names);
  ctx.out.check(view, 'item');
  const { format, onTerminal } = ctx.out;
  if ((format === 'table' || format === 'tsv') && names.length === 0) return;
  const asRows = format === 'table' ? !onTerminal : format === 'tsv' && names.length > 1;
  // The differences are printed already.
  if (extra !== undefined && ctx.out.isPlain) return;
  if (!asRows || ctx.globals.fields) return await ctx.out.item(view, record, extra);
  const rows = names.map((name) => ({ name, value: record[name] ?? null }));
  await ctx.out.list(rowView, rows, { has_more: false });
}
