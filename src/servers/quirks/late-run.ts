/**
 * Starts a run and waits until an event reports a status after it.
 *
 * Servers:  openhands-ai 1.11.0; whether 1.6.0 is affected is unknown
 * Symptom:  `conv resume --wait` and `conv send --accept --wait` end at once with the status before the run: the sandbox accepts
 *           a run before its status changes.
 * Evidence: interface 12: `idle` is usual right after an accepted start, `running` follows within 0.3 s; rate unknown; test/servers/v1/answers.test.ts
 * Cost:     1 read before the run and 1 or more after it, for up to 10 s
 * Remove:   unknown
 */
import { poll, QUICK } from '../../runs/poll.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import type { Answer } from '../transport/answer.ts';
import { executionWord, quietly } from '../v1/complete-record.ts';

/** An accepted run reports a status within this time, also on a busy machine. */
const MOVED_MS = 10_000;

/** @returns the refusal; null: the run was accepted */
export async function runUntilVisible(links: Links, agent: AgentClient): Promise<Answer | null> {
  const last = await newestState(agent);
  const refusal = await agent.run();
  if (refusal === null && last !== null) await untilMoved(links, agent, last);
  return refusal;
}

async function untilMoved(links: Links, agent: AgentClient, last: ReportedState): Promise<void> {
  const hasMoved = async (): Promise<true | undefined> => {
    const now = await newestState(agent);
    return now === null || now.eventId !== last.eventId || undefined;
  };
  await poll(hasMoved, { ...links, every: QUICK, until: links.clock.now() + MOVED_MS });
}

interface ReportedState {
  /** Of the newest event with a status of the run; null where none of the newest has one. */
  eventId: string | null;
}

/** Null where the events cannot be read: the run was accepted all the same. */
async function newestState(agent: AgentClient): Promise<ReportedState | null> {
  return await quietly(async () => {
    const { items } = await agent.events({ order: 'TIMESTAMP_DESC', limit: 30 }, null);
    return { eventId: items.find((event) => executionWord(event) !== null)?.id ?? null };
  });
}
