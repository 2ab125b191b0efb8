/** The sandbox of `conv new --spec` at a server whose start takes no spec: what remains of it when the start fails. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';
import type { Ended } from '../../support/world.ts';

const SANDBOX = 'sandbox0001';
const START = 'POST /api/v1/app-conversations';
const REMAINS = `the sandbox ${SANDBOX}, created for this start, remains: acs sandbox delete ${SANDBOX}`;

let trap: LooseTrap;
let interruption: AbortController;
/** Answers first; null: the sandbox is created and stays STARTING. */
let answer: (line: string, asked: Asked) => Reply | null;

beforeEach(async () => {
  interruption = new AbortController();
  answer = () => null;
  trap = await looseTrap();
  trap.before = (asked) => {
    const line = `${asked.method} ${asked.path}`;
    const reply = answer(line, asked);
    if (reply !== null) return reply;
    if (line === 'GET /api/v1/sandbox-specs/search')
      return {
        json: { items: [{ id: 'image', command: null, working_dir: '/w', created_at: null }], next_page_id: null },
      };
    if (line !== 'POST /api/v1/sandboxes') return null;
    trap.sandboxes.set(SANDBOX, 'STARTING');
    return { json: { id: SANDBOX, sandbox_spec_id: 'image', status: 'STARTING', created_at: null } };
  };
});
afterEach(() => trap.close());

const start = (...flags: string[]): Promise<Ended> =>
  trap.invoke({
    args: ['conv', 'new', 'hello', '--no-repo', '--spec', 'image', ...flags],
    signal: interruption.signal,
  });
const sent = (wanted: string): number => trap.fake.lines().filter((line) => line === wanted).length;

describe('conv new --spec names the sandbox that it created and that remains', () => {
  it('when the deadline comes before the start is sent', async () => {
    const { code, err } = await start('--start-timeout', '20s');
    expect([code, sent(START)], err).toEqual([124, 0]);
    expect(err).toContain(REMAINS);
    expect([...trap.sandboxes.keys()]).toEqual([SANDBOX]);
  });

  it('when the command is interrupted before the start is sent', async () => {
    answer = (line) => {
      if (line === 'GET /api/v1/sandboxes') interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return null;
    };
    const { code, err } = await start();
    expect([code, sent(START)], err).toEqual([130, 0]);
    expect(err).toContain(REMAINS);
  });

  it('when the state of the sandbox cannot be read', async () => {
    answer = (line) =>
      line === 'GET /api/v1/sandboxes' ? { status: 500, json: { detail: 'Internal Server Error' } } : null;
    const { code, err } = await start();
    expect([code, sent(START)], err).toEqual([9, 0]);
    expect(err).toContain(REMAINS);
  });

  it('when the start is refused and the sandbox cannot be deleted', async () => {
    answer = (line) => {
      if (line === 'GET /api/v1/sandboxes') trap.sandboxes.set(SANDBOX, 'RUNNING');
      if (line === START) return { status: 422, json: { detail: 'no' } };
      return line.startsWith('DELETE') ? { status: 409, json: { detail: 'in use' } } : null;
    };
    const { code, err } = await start();
    expect([code, sent(START)], err).toEqual([2, 1]);
    expect(err).toContain(REMAINS);
  });
});

it('conv new --spec deletes the sandbox that ended in error, and names the detail', async () => {
  answer = (line) => {
    if (line === 'GET /api/v1/sandboxes' && trap.sandboxes.has(SANDBOX)) trap.sandboxes.set(SANDBOX, 'ERROR');
    return null;
  };
  const { code, err } = await start();
  expect([code, sent(START)], err).toEqual([1, 0]);
  expect(err).toContain(`the sandbox ${SANDBOX} did not start`);
  expect([...trap.sandboxes.keys()]).toEqual([]);
  expect(err).not.toContain('remains');
});

it('conv new --spec names no sandbox when the creation of the sandbox is refused', async () => {
  answer = (line) => (line === 'POST /api/v1/sandboxes' ? { status: 409, json: { detail: 'limit reached' } } : null);
  const { code, err } = await start();
  expect([code, sent(START)], err).toEqual([6, 0]);
  expect(err).not.toContain('remains');
});
