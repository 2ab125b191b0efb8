/** Runs that ask for leave before each command. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { World } from '../../support/world.ts';
import { finish, json, replayFile, run, until, type ConversationJson } from './support.ts';

export interface ConfirmationJson {
  conversation_id: string;
  action_id: string;
  kind: string;
  text: string;
  risk: string;
  answer: string | null;
  others: unknown[];
  changed: boolean;
}

export interface WaitingRun {
  id: string;
  /** Whether the nth command was carried out. */
  did(command: number): boolean;
}

/** A run of so many commands, each of which leaves a file behind; it waits at the first one. */
export async function startWaitingRun(world: World, commands = 1): Promise<WaitingRun> {
  const mark = path.join(world.dir, `did-${Math.random().toString(36).slice(2)}`);
  const steps = Array.from({ length: commands }, (_, index) => run(`touch ${mark}-${index + 1}\necho done`));
  const file = await replayFile(world, `${path.basename(mark)}.json`, [...steps, finish('all done')]);
  await world.acs('settings', 'set', 'confirmation_mode=true');
  const started = await world.acs('conv', 'new', 'do it', '--no-repo', '--replay', file, '--wait', '--json');
  await world.acs('settings', 'set', 'confirmation_mode=false');
  if (started.code !== 8) throw new Error(`conv new ended with ${started.code}: ${started.err}`);
  return { id: json(started).id, did: (command) => existsSync(`${mark}-${command}`) };
}

export async function statusOf(world: World, id: string): Promise<string> {
  return json<ConversationJson>(await world.acs('conv', 'show', id, '--json')).status;
}

export function untilStatus(world: World, id: string, wanted: string): Promise<void> {
  return until(async () => (await statusOf(world, id)) === wanted);
}
