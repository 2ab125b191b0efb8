/** `conv wait`, and how long commands wait. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { event, ID, recordings, userMessage } from '../../client/support/v1-server.ts';
import { idleClock } from '../../support/test-clock.ts';
import { NOT_FOUND, type Asked, type Reply } from '../../support/server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { errorOf, useWorld } from '../../support/use-world.ts';
import {
  alone,
  endedRun,
  json,
  jsonLines,
  startHeldRun,
  until,
  useEndedRun,
  type OutcomeJson,
} from './support.ts';

describe('conv wait', () => {
  const at = useEndedRun({ spec: 'process', noun: 'conv', oneSandbox: true });
  const unknown = 'f'.repeat(32);

  it('prints one outcome for each id, also of those on stdin', async () => {
    const own = { type: 'outcome', conversation_id: at.id, status: 'finished', exit_code: 0 };
    await at.ends(`wait ${at.id} --json`, { out: own });
    const other = await endedRun(at.world);
    await at.ends(`wait ${at.id} ${other} --json`, {
      out: { items: [own, { conversation_id: other }] },
    });
    await at.ends('wait - -q', { stdin: `${at.id}\n${other}\n`, out: `${at.id}\n${other}\n` });
  });

  it('exits with the worst code of all, and with --any when the first run has ended', async () => {
    const failed = await endedRun(at.world);
    await at.ends(`send ${failed} more --wait`, { code: 1 });
    await at.ends(`wait ${at.id} ${failed}`, { code: 1 });
    const held = await startHeldRun(at.world);
    const any = await at.ends(`wait ${held.id} ${at.id} --any --json`, {});
    expect(json<{ items: OutcomeJson[] }>(any).items.map(({ conversation_id: id }) => id)).toEqual([
      at.id,
    ]);
    await held.release();
    await at.ends(`wait ${held.id}`, {});
  });

  it('prints an item with its error for an id that cannot be read, and exits with the worst code', async () => {
    const items = [
      { conversation_id: at.id, exit_code: 0 },
      { id: unknown, ok: false, error: { code: 'not-found' } },
    ];
    const ended = await at.ends(`wait ${at.id} ${unknown} --json`, {
      code: 5,
      out: { items, has_more: false },
    });
    expect(errorOf(ended)).toMatchObject({ code: 'not-found' });
    const rows = await at.ends(`wait ${unknown} ${at.id} --format tsv`, { code: 5 });
    const cells = rows.out.split('\n').map((row) => row.split('\t').slice(0, 3));
    expect(cells).toEqual([[unknown, '', '5'], [at.id, 'finished', '0'], ['']]);
    await at.ends(`wait ${unknown} ${at.id} -q`, { code: 5, out: `${at.id}\n` });
    const lines = await at.ends(`wait ${unknown} ffff ${at.id} --format ndjson`, { code: 5 });
    expect(jsonLines(lines.out)).toMatchObject([
      { id: unknown },
      { id: 'ffff', ok: false },
      { conversation_id: at.id },
    ]);
  });

  it('--any warns about an id that cannot be read, and fails when none can be', async () => {
    const held = await startHeldRun(at.world);
    const waiting = at.ends(`wait ${unknown} ${held.id} --any --json`, {
      out: { items: [{ conversation_id: held.id, exit_code: 0 }] },
      err: unknown,
    });
    await held.release();
    await waiting;
    const other = 'e'.repeat(32);
    const none = await at.ends(`wait ${unknown} ${other} --any`, { code: 5 });
    expect(none.err.match(/no conversation/g)).toHaveLength(2);
  });

  it('reads a run that has ended once more after the deadline, and has its outcome', async () => {
    await at.ends(`wait ${at.id} --wait-timeout 0s --json`, {
      out: { conversation_id: at.id, status: 'finished' },
    });
  });

  it('--for waits for a status, and exits at once when it can no longer be reached', async () => {
    const held = await startHeldRun(at.world);
    await at.ends(`wait ${held.id} --for running`, {});
    const finished = at.ends(`wait ${held.id} --for finished`, {});
    await held.release();
    await finished;
    await at.ends(`wait ${held.id} --for waiting`, { code: 6 });
    await at.ends(`wait ${held.id} --for asleep`, { code: 2 });
  });

  it('exits 124 at its deadline and names the last status, as follow --fail-on-stall does without events', async () => {
    const held = await startHeldRun(at.world);
    const ended = await at.ends(`wait ${held.id} --timeout 300ms --json`, { code: 124 });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    const stalled = await at.ends(`follow ${held.id} --fail-on-stall 300ms --json`, { code: 124 });
    expect(jsonLines(stalled.out).at(-1)).toMatchObject({
      type: 'outcome',
      reason: { code: 'no-events' },
    });
    await held.release();
    await at.ends(`wait ${held.id}`, {});
  });

  it('exits 6 when the run is stopped, and 5 when it is deleted', async () => {
    const stopped = await startHeldRun(at.world);
    const waiting = at.ends(`wait ${stopped.id}`, { code: 6 });
    await at.ends(`stop ${stopped.id}`, {});
    await waiting;
    const deleted = await startHeldRun(alone(at.world));
    let shown = '';
    const onOut = (text: string): void => void (shown += text);
    const following = at.ends(`follow ${deleted.id} --json`, { code: 5, onOut });
    await until(() => shown.includes('"type":"event"'));
    await at.ends(`delete ${deleted.id} -y`, {});
    const { out } = await following;
    expect(jsonLines(out).at(-1)).toMatchObject({
      type: 'outcome',
      status: 'deleted',
      exit_code: 5,
    });
  });
});

describe('conv wait for a conversation without a run', () => {
  const at = useV1({ clock: () => idleClock() });
  const ending = { code: 124, clock: idleClock() };
  beforeEach(() => {
    at.v1.addConversation({ execution_status: 'idle' });
    at.v1.agentEvents = [event('SystemPromptEvent')];
  });

  it('prints a notice with the command that sends a message', async () => {
    const err = `is idle and has had no message yet; send one: acs conv send ${ID}`;
    await at.ends(`conv wait ${ID} --wait-timeout 300ms`, { ...ending, err });
  });

  it('prints no such notice when a message is stored but not processed yet', async () => {
    at.v1.agentEvents.push(userMessage('hello'));
    await at.ends(`conv wait ${ID} --wait-timeout 300ms`, { ...ending, hides: 'no message yet' });
  });
});

describe('a server that answers 429 with a Retry-After of half a minute', () => {
  const at = useV1({ clock: () => idleClock(30) });
  const busy = {
    'GET /api/v1/app-conversations': {
      status: 429,
      headers: { 'retry-after': '30' },
      json: { error: 'Rate limit exceeded' },
    },
  };
  beforeEach(() => {
    at.v1.addConversation();
    at.v1.agentEvents = [];
  });

  it('gets one notice, an object with --json, and Ctrl-C ends the pause', async () => {
    const interruption = new AbortController();
    at.script(busy);
    let said = '';
    const onErr = (text: string): void => void (said += text);
    const showing = at.ends(`conv show ${ID} --json`, {
      code: 130,
      signal: interruption.signal,
      onErr,
    });
    await until(() => said.includes('asks to wait'));
    interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    const { err } = await showing;
    const notices = err.split('\n').filter((line) => line.startsWith('{"notice"'));
    expect(notices).toEqual([`{"notice":"${at.server.url} answers 429 and asks to wait: 30 s"}`]);
  });

  it('does not keep conv wait beyond its deadline', async () => {
    const waiting = at.ends(`conv wait ${ID} --wait-timeout 1m`, { code: 124, err: ID });
    await until(() => at.server.asked.some(({ path }) => path.startsWith('/agent/')));
    at.script(busy);
    await waiting;
  });
});

describe('a V0 run whose model limits its rate', () => {
  const older = recordings('1.6.0');
  const id = 'c3722f6b04ea4a4b8883a7dd7563356d';
  let events: Record<string, unknown>[];
  let looks: number;
  const message = (content: string) => ({ source: 'user', action: 'message', args: { content } });
  const status = (agent_state: string) => ({
    source: 'environment',
    observation: 'agent_state_changed',
    extras: { agent_state, reason: '' },
  });
  const add = (...added: Record<string, unknown>[]): void => {
    for (const one of added)
      events.push({ id: events.length, timestamp: '2026-11-21T10:30:00', ...one });
  };
  const answer = ({ path, query }: Asked): Reply => {
    if (path === '/api/options/config') return older.reply('probe.options-config');
    if (path === `/api/conversations/${id}`) {
      // Another client has sent a message.
      if (++looks === 8) add(message('go on'), status('running'), status('finished'));
      return { json: { conversation_id: id, title: 'A title', status: 'RUNNING', url: null } };
    }
    if (path !== `/api/conversations/${id}/events`) return NOT_FOUND;
    const found = events.filter((one) => Number(one['id']) >= Number(query.get('start_id') ?? 0));
    if (query.get('reverse') === 'true') found.reverse();
    return { json: { events: found.slice(0, 100), has_more: found.length > 100 } };
  };
  const at = useWorld({ script: answer, clock: () => idleClock(30) });
  beforeEach(() => {
    events = [];
    looks = 0;
    add(message('begin'), status('running'), status('rate_limited'));
  });

  it('is shown as running, with the reason', async () => {
    const text = expect.stringContaining('the model limits its rate') as string;
    await at.ends(`conv show ${id} --json`, {
      out: { status: 'running', reason: { code: 'rate-limited', text } },
    });
  });

  it('gets one notice of conv wait, which prints its outcome at the end', async () => {
    const { err } = await at.ends(`conv wait ${id}`, {});
    expect(err.match(/the model limits its rate/g)).toHaveLength(1);
  });
});
