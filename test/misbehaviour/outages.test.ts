/**
 * A server that restarts while a command waits: each wait repeats its reads for 60 s, whichever
 * dialect and verb.
 */
import { describe, it } from 'vitest';
import type { Suite } from '../support/use-world.ts';
import { idleClock } from '../support/test-clock.ts';
import {
  happens,
  stateChanges,
  useLoose,
  userSays,
  useV0,
  V0_ID,
} from '../support/use-scripted.ts';

/** Three looks of a poll, each with the tries of the transport. */
const SHORT = 12;

/** From the first request that matches on, so many reads that match are answered 500. */
function fails(at: Suite, from: RegExp, reads: RegExp, count: number): void {
  let left = -1;
  at.script(({ method, path, url }) => {
    if (left < 0 && from.test(`${method} ${url}`)) left = count;
    else if (left > 0 && method === 'GET' && reads.test(path)) {
      left -= 1;
      return { status: 500, json: { detail: 'Internal Server Error' } };
    }
    return null;
  });
}

describe('over V0, after a write', () => {
  const clock = idleClock(30);
  const at = useV0({ clock: () => clock });
  const given = (status: string, state: string): void => {
    userSays(at.v0, 'hello');
    stateChanges(at.v0, state);
    at.v0.record = { ...at.v0.record, status };
  };
  /** The record has this status after the request. */
  const becomes = (route: string, status: string): void => {
    const { before } = at.v0;
    at.v0.before = (asked) => {
      if (asked.method !== 'POST' || !asked.path.endsWith(route)) return before(asked);
      at.v0.record = { ...at.v0.record, status };
      return { json: { status: 'ok' } };
    };
  };

  it.each([
    ['conv new hello --no-repo', 0, SHORT],
    ['conv new hello --no-repo', 9, Infinity],
  ])('%s exits %i when %d reads fail', async (line, code, count) => {
    given('RUNNING', 'running');
    fails(at, /^POST \/api\/conversations/, /./, count);
    await at.ends(line, { code });
  });

  it.each([
    [0, SHORT],
    [9, Infinity],
  ])('conv stop exits %i when %d reads fail', async (code, count) => {
    given('RUNNING', 'running');
    becomes('/stop', 'STOPPED');
    fails(at, /^POST .*\/stop/, /./, count);
    await at.ends(`conv stop ${V0_ID}`, { code });
  });

  it('conv diff --resume exits 0 when reads fail after the start of the conversation', async () => {
    given('STOPPED', 'stopped');
    becomes('/start', 'RUNNING');
    at.script(({ path }) => (path.endsWith('/git/changes') ? { json: [] } : null));
    fails(at, /^POST .*\/start/, /conversations\/\w+$/, SHORT);
    happens(at.v0, {
      source: 'agent',
      message: 'done',
      action: 'message',
      args: { content: 'done' },
    });
    stateChanges(at.v0, 'awaiting_user_input');
    await at.ends(`conv diff ${V0_ID} --resume`, {});
  });
});

describe('over V1, after a write', () => {
  const at = useLoose();

  it.each([
    ['conv new hello --no-repo', /^POST \/api\/v1\/app-conversations$/],
    ['conv new hello --no-repo --wait', /^GET \/api\/v1\/app-conversations\/start-tasks/],
  ])('%s exits 0 when reads fail', async (line, from) => {
    fails(at, from, /^\/api\/v1\//, SHORT);
    await at.ends(line, {});
  });

  it.each([
    ['conv stop', /^POST .*\/(interrupt|pause)$/],
    ['conv send again', /^POST .*\/(send-message|events)$/],
    ['sandbox pause', /^POST .*\/pause/],
    ['sandbox delete -y --force', /^DELETE /],
  ])('%s exits 0 when reads fail', async (line, from) => {
    const { id, sandbox } = await at.start(line === 'conv stop' ? 'WORK' : 'hello');
    fails(at, from, /^\/api\/v1\//, SHORT);
    const [noun = '', verb = '', ...rest] = line.split(' ');
    await at.ends([noun, verb, noun === 'conv' ? id : sandbox, ...rest], {});
  });

  it('conv wait exits 0 when the events of the run cannot be read at first', async () => {
    const { id } = await at.start('hello');
    fails(at, /./, /events\/search$/, SHORT);
    await at.ends(`conv wait ${id}`, {});
  });
});
