/** `--watch` of the three lists. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { ID, OTHER_ID } from '../../client/support/v1-server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import type { Reply } from '../../support/server.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { Ended, Invocation } from '../../support/world.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const clock = () => new TestClock({ movedBy: 'sleeps', startMs: NOON, limitMs: 60_000 });
const at = useV1({ clock });
const LIST = 'conv list --watch --fields id,status';
const BAD_GATEWAY: Reply = { status: 502, json: {} };

beforeEach(() => {
  at.v1.addConversation({ id: ID });
  at.v1.addConversation({ id: OTHER_ID, execution_status: 'finished' });
});

const becomes = (id: string, members: object) => () => {
  Object.assign(at.v1.conversations.get(id) ?? {}, members);
  return null;
};

/** Each step is called before a request for the list; after them the user presses Ctrl-C. */
async function watch(
  line: string,
  steps: (() => Reply | null)[],
  more: Partial<Invocation> = {},
): Promise<Ended> {
  const interruption = new AbortController();
  const left = [...steps];
  at.v1.before = ({ path }) => {
    if (!/^\/api\/v1\/(app-conversations|sandboxes)\/search$/.test(path)) return null;
    const step = left.shift();
    if (step === undefined)
      interruption.abort(new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }));
    return step?.() ?? null;
  };
  return await at.invoke({ args: line.split(' '), signal: interruption.signal, ...more });
}

/** What the last drawing shows. */
function screenOf({ out }: Ended): string[] {
  const [last = ''] = out.split('\x1b[?2026h').at(-1)?.split('\x1b[?2026l') ?? [];
  return last.replace(/\x1b\[[\d;?]*[A-Za-z]|\r/g, '').split('\n');
}

describe('outside a terminal', () => {
  it('--watch prints each row, then those that changed, and ends with 130 at Ctrl-C', async () => {
    const ended = await watch(LIST, [
      () => null,
      becomes(ID, { execution_status: 'finished' }),
      () => null,
    ]);
    expect(ended.code).toBe(130);
    expect(ended.out).toBe(`${OTHER_ID}\tfinished\n${ID}\trunning\n${ID}\tfinished\n`);
  });

  it('a time that changes alone is a change only where --fields names it', async () => {
    const steps = [() => null, becomes(ID, { updated_at: '2026-11-21T11:00:00Z' })];
    expect((await watch('conv list --watch', steps)).out.split('\n')).toHaveLength(3);
    steps.push(becomes(ID, { updated_at: '2026-11-21T11:30:00Z' }));
    const { out } = await watch('conv list --watch --fields id,updated_at', steps);
    expect(out.split('\n').slice(2, -1)).toEqual([`${ID}\t2026-11-21T11:30:00Z`]);
  });

  it('--json prints one object a change', async () => {
    const { out } = await watch(`${LIST} --json`, [
      () => null,
      becomes(OTHER_ID, { execution_status: 'error' }),
    ]);
    expect(out.trimEnd().split('\n').slice(2)).toEqual([
      JSON.stringify({ id: OTHER_ID, status: 'failed' }),
    ]);
  });

  it('-q prints an id when it enters the list', async () => {
    const { out } = await watch('conv list --watch -q --status waiting', [
      () => null,
      becomes(ID, { execution_status: 'waiting_for_confirmation' }),
      becomes(ID, { title: 'Another' }),
      becomes(ID, { execution_status: 'running' }),
      becomes(ID, { execution_status: 'waiting_for_confirmation' }),
    ]);
    expect(out).toBe(`${ID}\n${ID}\n`);
  });

  it('sandbox list --watch prints the sandboxes that changed', async () => {
    const sandbox = at.v1.addSandbox('box');
    const pause = () => {
      sandbox.status = 'PAUSED';
      return null;
    };
    // The list of the sandboxes reads that of the conversations too.
    const steps = [() => null, () => null, pause, () => null];
    const { out } = await watch('sandbox list --watch --fields id,status', steps);
    expect(out).toBe('box\trunning\nbox\tpaused\n');
  });

  it('an error of the server is one warning, and the list is read again', async () => {
    const failing = Array.from({ length: 8 }, () => () => BAD_GATEWAY);
    const { out, err } = await watch(LIST, [
      () => null,
      ...failing,
      becomes(ID, { execution_status: 'paused' }),
    ]);
    expect(err.match(/warning: .*502/g)).toHaveLength(1);
    expect(out.trimEnd().split('\n').at(-1)).toBe(`${ID}\tpaused`);
  });

  it('a refused key ends it with 4, and an error of the first reading as without --watch', async () => {
    const refused = () => ({ status: 403, json: { detail: 'Forbidden' } });
    expect(await watch(LIST, [() => null, refused])).toMatchObject({ code: 4 });
    const failing = Array.from({ length: 8 }, () => () => BAD_GATEWAY);
    expect(await watch(LIST, failing)).toMatchObject({ code: 9, out: '' });
  });

  at.rows({
    'a table cannot be printed as changes': {
      acs: 'conv list --watch --format table',
      code: 2,
      err: 'a stream cannot be printed as a table',
      requests: 0,
    },
    '--watch writes no file': {
      acs: 'conv list --watch -o list.tsv',
      code: 2,
      err: '--watch and --output cannot be combined',
      requests: 0,
    },
  });
});

describe('on a terminal', () => {
  const terminal = { columns: 70, env: { NO_COLOR: '1' } };

  it('--watch draws the table in place, and marks the rows that changed last', async () => {
    const ended = await watch(
      LIST,
      [() => null, becomes(ID, { execution_status: 'finished' }), () => null],
      terminal,
    );
    expect(ended).toMatchObject({ code: 130, err: '' });
    expect(screenOf(ended)).toEqual([
      '  ID        STATUS',
      '  ffeeddcc  finished',
      '* 0a1b2c3d  finished',
      'every 2s; end with Ctrl-C',
    ]);
    expect(ended.out).toMatch(/finished\x1b\[K\n\x1b\[J$/);
  });

  it('a table that is higher than the terminal is cut', async () => {
    for (let count = 10; count < 40; count += 1)
      at.v1.addConversation({ id: `${count}`.repeat(16) });
    const lines = screenOf(await watch(`${LIST} -L 40`, [() => null, () => null], terminal));
    expect(lines).toHaveLength(24);
    expect(lines.at(-2)).toBe('  … 11 more');
  });

  it('an error is in the status line until the list is read again', async () => {
    const frames: string[] = [];
    const ended = await watch(
      LIST,
      [() => null, ...Array.from({ length: 4 }, () => () => BAD_GATEWAY), () => null],
      { ...terminal, onOut: (text) => void frames.push(text) },
    );
    expect(frames.filter((text) => text.includes('error: ')).join('')).toMatch(
      /error: .*502.*; last read \d+s ago/,
    );
    expect(screenOf(ended).at(-1)).toBe('every 2s; end with Ctrl-C');
  });

  it('an empty list and a screen of CI have their own forms', async () => {
    at.v1.conversations.clear();
    expect(screenOf(await watch(LIST, [() => null, () => null], terminal))[0]).toBe(
      '  no conversations',
    );
    at.v1.addConversation({ id: ID });
    const inCi = { ...terminal, env: { CI: '1' } };
    expect((await watch(LIST, [() => null], inCi)).out).toBe(`${ID}\trunning\n`);
  });
});
