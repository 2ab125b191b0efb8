/** The selectors of lists and bulk commands as options: --status --older-than --idle --spec --repo and their twins. */
import type { Command } from 'commander';
import type { Selection } from '../domain/selectors.ts';
import { collectList, duration, someOf } from './option-parsers.ts';

export interface SelectorOptions {
  status?: string[];
  notStatus?: string[];
  olderThan?: number;
  notOlderThan?: number;
  idle?: number;
  notIdle?: number;
  spec?: string[];
  notSpec?: string[];
  repo?: string[];
  notRepo?: string[];
}

/** @param statuses the words of this noun; a word invented later is given as it is shown, `unknown(<word>)`. */
export function addSelectorOptions(command: Command, statuses: readonly string[]): Command {
  const status = someOf(statuses, /^unknown\(.+\)$/);
  return command
    .optionsGroup('Selectors:')
    .option('--status <word,…>', `status is one of ${statuses.join(', ')}`, status)
    .option('--not-status <word,…>', 'status is none of these', status)
    .option('--older-than <duration>', 'created at least this long ago', duration)
    .option('--not-older-than <duration>', 'created less than this long ago', duration)
    .option('--idle <duration>', 'no run in progress and no update for this long', duration)
    .option('--not-idle <duration>', 'a run in progress, or updated less than this long ago', duration)
    .option('--spec <id,…>', 'created from one of these specs', collectList)
    .option('--not-spec <id,…>', 'created from none of these specs', collectList)
    .option('--repo <glob,…>', "repository matches a pattern, such as 'acme/*'", collectList)
    .option('--not-repo <glob,…>', 'repository matches none of these patterns', collectList)
    .optionsGroup('Flags:');
}

/** The conditions given, or null when there is none. */
export function readSelection(options: SelectorOptions): Selection | null {
  const selection: Selection = {
    ...(options.status && { status: options.status }),
    ...(options.notStatus && { notStatus: options.notStatus }),
    ...(options.olderThan !== undefined && { olderThanMs: options.olderThan }),
    ...(options.notOlderThan !== undefined && { notOlderThanMs: options.notOlderThan }),
    ...(options.idle !== undefined && { idleMs: options.idle }),
    ...(options.notIdle !== undefined && { notIdleMs: options.notIdle }),
    ...(options.spec && { spec: options.spec }),
    ...(options.notSpec && { notSpec: options.notSpec }),
    ...(options.repo && { repo: options.repo }),
    ...(options.notRepo && { notRepo: options.notRepo }),
  };
  return Object.keys(selection).length === 0 ? null : selection;
}
