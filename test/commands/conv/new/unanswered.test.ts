import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/base/errors.ts';
import { idleClock, until } from '../../../support/test-clock.ts';
import { useV1 } from '../../../support/use-scripted.ts';
import { errorOf } from '../../../support/use-world.ts';
import type { Ended } from '../../../support/world.ts';
import { json } from '../support.ts';

const START = 'POST /api/v1/app-conversations';
const at = useV1({ clock: () => idleClock() });
let interruption: AbortController;

beforeEach(() => {
  interruption = new AbortController();
  at.script({ [START]: { silence: true } });
});

function start(...flags: string[]): Promise<Ended> {
  const args = ['conv', 'new', 'hello', '--no-repo', '--json', ...flags];
  return at.invoke({ args, signal: interruption.signal });
}

/** The id the start went out with, once it has. */
async function sentId(): Promise<string> {
  const sent = () => at.server.writes()[0];
  await until(() => sent() !== undefined);
  return String((sent()?.body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
}

function interrupt(): void {
  interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
}

describe('a start without an answer', () => {
  it('an interrupt names the start and the commands that show and stop it', async () => {
    const starting = start();
    const id = await sentId();
    interrupt();
    const ended = await starting;
    expect(ended.code).toBe(130);
    expect(errorOf(ended)).toMatchObject({ code: 'interrupted', conversation_id: id });
    expect(errorOf(ended).message).toContain('may have taken the start');
    expect(errorOf(ended).hint).toBe(
      `see: acs conv show ${id}; if the server chose another id: acs conv list\nstop it: ` +
        `acs conv stop ${id}`,
    );
    expect(json(ended)).toMatchObject({
      id,
      status: 'unknown(not-read)',
      outcome: { exit_code: 130 },
    });
  });

  it('--json prints one document when the answer is lost', async () => {
    at.script({ [START]: { cut: true } });
    const ended = await start();
    const id = await sentId();
    expect(ended.code, ended.err).toBe(11);
    expect(json(ended)).toMatchObject({
      id,
      status: 'unknown(not-read)',
      error: { code: 'unknown-outcome' },
    });
  });

  it('exits 124 at the deadline of --wait-timeout', async () => {
    const ended = await start('--wait-timeout', '300ms');
    expect(ended.code).toBe(124);
    expect(errorOf(ended)).toMatchObject({
      code: 'timeout',
      reason: 'timeout',
      conversation_id: await sentId(),
    });
    expect(errorOf(ended).message).toContain('may have taken the start');
    expect(at.writes()).toHaveLength(1);
  });

  it('--stop-on-exit stops the run as soon as the server lists it', async () => {
    let looks = 0;
    const starting = start('--stop-on-exit');
    const id = await sentId();
    at.v1.before = (asked) => {
      if (asked.path.endsWith('/interrupt')) {
        at.v1.conversations.get(id)!['execution_status'] = 'paused';
        return { json: { success: true } };
      }
      if (asked.method === 'GET' && asked.path === '/api/v1/app-conversations' && ++looks === 3)
        at.v1.addConversation({
          id,
          conversation_url: `${at.server.url}/agent/api/conversations/${id}`,
        });
      return null;
    };
    interrupt();
    const ended = await starting;
    expect(ended.code).toBe(130);
    expect(ended.err).toContain(`conversation ${id} was stopped`);
    const state = { status: 'paused', reason: { code: 'interrupted' } };
    expect(json(ended)).toMatchObject({
      id,
      ...state,
      outcome: { ...state, conversation_id: id, exit_code: 130 },
    });
    expect(at.server.lines()).toContain(`POST /agent/api/conversations/${id}/interrupt`);
  });
});
