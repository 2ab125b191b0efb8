/**
 * Reading a recorded trajectory: V0 events (`action`/`observation` members) or V1 events (`kind`), as a JSON array, as
 * an object that holds the array, or as one JSON object a line; each as a server serves it or as acs prints it. The
 * result is what the agent did, in order; observations are left out, since the actions are executed again.
 */
import { isTooDeep } from '../../../protocol/detail.ts';
import type { ReplayStep, Trajectory } from './steps.ts';
import { readV0 } from './v0.ts';
import { readV1 } from './v1.ts';
import { isRecord, type Reading, ReplayError } from './reading.ts';

export { ReplayError } from './reading.ts';

const LISTS = ['trajectory', 'history', 'events', 'items'];

/**
 * The steps of a trajectory. Throws ReplayError when the text is not a trajectory, holds an action that cannot be
 * replayed, or holds nothing that the agent did; its message names the place.
 */
export function parseTrajectory(text: string): Trajectory {
  return readTrajectory(parseDocument(text));
}

/** The same for a document that is already parsed, as in the body of a request. */
export function readTrajectory(document: unknown): Trajectory {
  if (isTooDeep(document)) throw new ReplayError('the trajectory is nested too deeply');
  const entries = listOf(document).flatMap(asServed);
  const readings: Reading[] = entries.map((entry, index) => {
    const where = `event ${String(index + 1)}`;
    if (!isRecord(entry)) throw new ReplayError(`${where}: an object is expected`);
    const isV1 = typeof entry['kind'] === 'string';
    if (!isV1 && !('action' in entry) && !('observation' in entry)) {
      throw new ReplayError(`${where}: neither "kind" (V1) nor "action" or "observation" (V0) is there`);
    }
    return isV1 ? readV1(entry, where) : readV0(entry, where);
  });
  const steps = withTurns(readings);
  if (steps.length === 0) throw new ReplayError('the trajectory holds no action of an agent; at least one is needed');
  const first = readings.find((reading) => reading.type !== 'skipped');
  return { steps, user_message: first?.type === 'user' ? first.text : null };
}

/** acs prints an event with its served form as `payload`; what it prints besides, start and outcome, is no event. */
function asServed(entry: unknown): unknown[] {
  if (!isRecord(entry)) return [entry];
  if (entry['type'] === 'event' && isRecord(entry['payload'])) return [entry['payload']];
  return entry['type'] === 'started' || entry['type'] === 'outcome' ? [] : [entry];
}

/** A message of the agent ends its turn when a user message or nothing follows. */
function withTurns(readings: Reading[]): ReplayStep[] {
  const shown = readings.filter((reading) => reading.type !== 'skipped');
  return shown.flatMap((reading, index): ReplayStep[] => {
    if (reading.type !== 'step') return [];
    const { step } = reading;
    if (step.type !== 'message') return [step];
    const next = shown[index + 1];
    return [{ ...step, ends_turn: step.ends_turn || next === undefined || next.type === 'user' }];
  });
}

function listOf(document: unknown): unknown[] {
  if (Array.isArray(document)) return document;
  if (isRecord(document)) {
    for (const name of LISTS) {
      const list = document[name];
      if (Array.isArray(list)) return list;
    }
  }
  throw new ReplayError(`a trajectory is an array of events, or an object with one as ${LISTS.join(', ')}`);
}

function parseDocument(text: string): unknown {
  const clean = text.replace(/^\uFEFF/, '').trim();
  if (clean === '') throw new ReplayError('the file is empty');
  try {
    return JSON.parse(clean);
  } catch (error) {
    const lines = clean.split('\n');
    if (lines.length > 1 && isJson(lines[0] ?? '')) return lines.flatMap(parseLine);
    throw new ReplayError(`not JSON: ${(error as Error).message}`);
  }
}

function parseLine(line: string, index: number): unknown[] {
  if (line.trim() === '') return [];
  try {
    return [JSON.parse(line)];
  } catch (error) {
    throw new ReplayError(`line ${String(index + 1)}: not JSON: ${(error as Error).message}`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
