import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blankConversation } from '../../src/domain/conversation.ts';
import { NOT_READ } from '../../src/runs/endings.ts';
import { NO_EVIDENCE } from '../../src/runs/outcome.ts';
import { trackRun, type TrackOptions } from '../../src/runs/tracker.ts';
import type { Context } from '../../src/context.ts';
import type { Server } from '../../src/servers/server.ts';
import { connectTo } from '../servers/support/connect.ts';
import {
  agentMessage,
  createV1World,
  finish,
  ID,
  status,
  userMessage,
  type V1World,
} from '../servers/support/v1-world.ts';
import { idleClock } from '../support/idle-clock.ts';
import type { Clock } from '../../src/clock.ts';

let world: V1World;
let server: Server;
let clock: Clock;

beforeEach(async () => {
  world = await createV1World();
  clock = idleClock(20);
  server = await connectTo(world.fake.url, { clock });
  world.addConversation();
});

afterEach(async () => {
  await server.close();
  await world.close();
});

function watching(options: Partial<TrackOptions> = {}): ReturnType<typeof trackRun> {
  // Watching needs no more of a context than time, the signal and a place for notices.
  const ctx = { clock, signal: new AbortController().signal, notice: () => Promise.resolve() } as unknown as Context;
  return trackRun(ctx, server, ID, {
    evidence: NO_EVIDENCE,
    seen: blankConversation(ID, NOT_READ),
    since: null,
    deadlineMs: Number.POSITIVE_INFINITY,
    waitMs: Number.POSITIVE_INFINITY,
    failOnStallMs: null,
    ...options,
  });
}

describe('watching a run', () => {
  it('ends at its deadline although the server answers no more requests, and names the last status', async () => {
    const { outcome, failure } = await watching({
      deadlineMs: clock.now() + 60_000,
      waitMs: 60_000,
      onState: () => {
        world.before = () => ({ silence: true });
      },
    });
    expect([outcome.status, outcome.exit_code, failure?.kind]).toEqual(['running', 124, 'timeout']);
    expect(failure?.message).toMatch(
      /the server did not answer within .*; the last known status of conversation \w+ is running/,
    );
  });

  it('ends at its deadline although the read that checks a status hangs', async () => {
    world.agentEvents.push(finish('of the run before'), status('finished'), userMessage('and now?'));
    world.conversations.get(ID)!['execution_status'] = 'finished';
    const { failure } = await watching({
      deadlineMs: clock.now() + 3_000,
      waitMs: 3_000,
      onState: () => {
        world.before = () => ({ silence: true });
      },
    });
    expect([failure?.kind, failure?.message]).toEqual([
      'timeout',
      expect.stringContaining('the server did not answer'),
    ]);
  });

  it('ends at its deadline although the read of the pending action hangs', async () => {
    world.conversations.get(ID)!['execution_status'] = 'waiting_for_confirmation';
    world.agentEvents.push(userMessage('hello'), status('waiting_for_confirmation'));
    world.fake.acceptSocket = () => false;
    let looks = 0;
    const { outcome, failure } = await watching({
      deadlineMs: clock.now() + 20_000,
      waitMs: 20_000,
      answer: {
        onWaiting() {
          world.agentEvents.push(agentMessage('while it waits'));
          return new Promise(() => {});
        },
        onHappened() {
          looks += 1;
          return new Promise(() => {});
        },
        close: () => undefined,
      },
    });
    expect(looks).toBe(1);
    expect([outcome.status, outcome.exit_code, failure?.kind]).toEqual(['waiting', 8, undefined]);
  });

  it('ends with the outcome although a request of the follower hangs', async () => {
    world.agentEvents.push(userMessage('hello'), finish('bye'), status('finished'));
    world.conversations.get(ID)!['execution_status'] = 'finished';
    const { outcome } = await watching({
      onState: () => {
        world.before = () => ({ silence: true });
      },
    });
    expect([outcome.status, outcome.exit_code]).toEqual(['finished', 0]);
  });

  it('continues after a failed read that checks a status', async () => {
    world.agentEvents.push(finish('of the run before'), status('finished'), userMessage('and now?'));
    world.conversations.get(ID)!['execution_status'] = 'finished';
    world.agentState['execution_status'] = 'finished';
    let cuts = 0;
    const { outcome } = await watching({
      onState: () => {
        world.before = () => (++cuts <= 20 ? { cut: true } : null);
      },
    });
    expect(cuts).toBeGreaterThan(20);
    expect([outcome.status, outcome.exit_code]).toEqual(['finished', 0]);
  });
});
