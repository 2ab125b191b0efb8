/** Which events a command prints: --kind, --source, --since, --tail. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import { parseSince } from '../../text/time.ts';
import { collectList, someOf, wholeNumber } from '../option-parsers.ts';

/** `hook` is one of the cloud. */
const SOURCES = ['agent', 'user', 'environment', 'hook'] as const;

export interface FilterOptions {
  kind?: string[];
  source?: (typeof SOURCES)[number][];
  since?: string;
  tail?: number;
}

export function addFilterOptions(command: Command): Command {
  return command
    .option('--kind <kind,…>', 'only events of these kinds, such as ActionEvent or action:run', collectList)
    .option('--source <source,…>', 'only events from agent, user, environment or hook', someOf(SOURCES))
    .option('--since <id|time|duration>', 'only events after this event or time')
    .addOption(
      command
        .createOption('--tail <n>', 'begin with the newest n events; 0 for none')
        .argParser(wholeNumber)
        .conflicts('since'),
    );
}

export type Since = { kind: 'time'; time: string } | { kind: 'event'; id: string } | null;

/** Throws `usage`. An id is a number (V0) or a uuid (V1). */
export function readSince(ctx: Context, { since }: FilterOptions): Since {
  if (since === undefined) return null;
  if (/^\d+$/.test(since) || /^[0-9a-f-]{32,36}$/i.test(since)) return { kind: 'event', id: since };
  const time = parseSince(since, ctx.clock.now());
  if (time === null) {
    throw new AppError('usage', `--since: "${since}" is not a time, duration or event id`, {
      hint: 'write 10m, 2h, 2026-01-31T12:00:00Z or the id of an event',
    });
  }
  return { kind: 'time', time };
}

export function eventTest({ kind, source }: FilterOptions): (event: ConversationEvent) => boolean {
  const kinds = kind?.map((word) => word.toLowerCase());
  return (event) =>
    (kinds === undefined || kinds.includes(event.kind.toLowerCase())) &&
    (source === undefined || source.some((word) => word === event.source?.toLowerCase()));
}

export function isSameEvent(id: string, event: ConversationEvent): boolean {
  const plain = (text: string) => text.toLowerCase().replaceAll('-', '');
  return plain(id) === plain(event.id);
}
