/** Prints the difference and writes the settings that differ, for set, unset and edit. */
import type { Context } from '../../context.ts';
import type { SettingsField, SettingsSnapshot } from '../../domain/settings.ts';
import {
  differenceOf,
  unstoredOf,
  type Difference,
  type RequestedSettings,
  type Unstored,
} from '../../domain/settings-diff.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { endOfDryRun } from '../bulk.ts';
import { recordOf } from './document.ts';
import { printSettings } from './print.ts';
import { settingsView } from './view.ts';

export interface Application {
  server: Server;
  fields: readonly SettingsField[];
  /** The stored settings, where the caller has read them. */
  snapshot?: SettingsSnapshot;
  requested: RequestedSettings;
  allowLoss: boolean | undefined;
}

/** Prints the settings as they are then, with `changed`. */
export async function applySettings(ctx: Context, application: Application): Promise<void> {
  const { server, fields, requested, allowLoss } = application;
  const names = namesOf(ctx, fields, requested);
  ctx.out.check(settingsView(names), 'item');
  const snapshot = application.snapshot ?? (await server.settings.read());
  const { set, unset, shown } = differenceOf(snapshot, requested);
  if (shown.length === 0) {
    await ctx.notice('nothing to change');
    if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
    return await printSettings(ctx, { names, record: recordOf(snapshot, fields), extra: { changed: false } });
  }
  // The difference is known also when the write fails, and is not printed for a change that is refused before it.
  const change = { set, unset, allow_loss: allowLoss ? 'allow' : 'refuse' } as const;
  const after = await server.settings.write(change, () => printDifference(ctx, shown));
  refuseUnstored(unstoredOf(after, snapshot, requested, { set, unset }));
  await printSettings(ctx, { names, record: recordOf(after, fields), extra: { changed: true } });
}

async function printDifference(ctx: Context, shown: readonly Difference[]): Promise<void> {
  for (const { name, before, after } of shown) await ctx.notice(`${name}: ${before} -> ${after}`);
}

/** Throws `server`: what was written is not what the server returns. */
function refuseUnstored(unstored: readonly Unstored[]): void {
  if (unstored.length === 0) return;
  const each = unstored.map(({ name, wanted, found }) => `${name} is ${found}, not ${wanted}`);
  throw new AppError('server', `the server accepted the settings but stored other values: ${each.join('; ')}`, {
    hint: 'read them with: acs settings get',
    data: { settings: unstored },
  });
}

/** JSON is the whole object, as of every write; to people and columns only what was named is of interest. */
function namesOf(ctx: Context, fields: readonly SettingsField[], requested: RequestedSettings): string[] {
  const isWhole = ctx.out.format === 'json' || ctx.out.format === 'ndjson' || ctx.globals.fields !== undefined;
  return (isWhole ? fields : [...requested.set.keys(), ...requested.unset]).map((field) => field.name);
}
