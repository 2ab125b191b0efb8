/**
 * What an answer to an action and a resumption send, and when they send it again
 * (quirks/late-effect.ts).
 */
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import type { Reply } from '../../support/server.ts';
import { TestClock } from '../../support/test-clock.ts';
import { useScriptedRun } from '../../support/use-scripted.ts';
import { event, ID, SANDBOX_KEY, status, userMessage } from '../support/v1-server.ts';

const run = useScriptedRun();
const { at, refused, took } = run;
const ACTION_PATH = `/agent/api/conversations/${ID}/events/respond_to_confirmation`;
const RUN = `POST /agent/api/conversations/${ID}/run`;
const WAITING = 'waiting_for_confirmation';

/** As agent server 1.34.0 sends it. */
function terminalAction(command: string, callId: string): Record<string, unknown> {
  return event('ActionEvent', {
    action: { command, is_input: false, reset: false, kind: 'TerminalAction' },
    tool_name: 'terminal',
    tool_call_id: callId,
    security_risk: 'HIGH',
  });
}

function observed({ id, tool_call_id }: Record<string, unknown>): Record<string, unknown> {
  const observation = { kind: 'TerminalObservation', content: [] };
  return event('ObservationEvent', {
    source: 'environment',
    tool_call_id,
    action_id: id,
    observation,
  });
}

const one = terminalAction('ls', 'call_1');
const two = terminalAction('rm -rf ./here\nrm -rf ./there', 'call_2');
const accepted = { accept: true };

describe('conv confirm', () => {
  it('prints the pending action, complete, and no executed one', async () => {
    run.stands(WAITING, userMessage('go'), one, observed(one), two);
    await at.ends(`confirm ${ID} --json`, {
      code: 8,
      out: {
        action_id: two['id'],
        kind: 'TerminalAction',
        text: '$ rm -rf ./here\nrm -rf ./there',
        risk: 'high',
        others: [],
      },
    });
  });

  it('takes each action of a step with several tool calls as the name of the step', async () => {
    run.stands(WAITING, userMessage('go'), one, two);
    await at.ends(`confirm ${ID} --json`, {
      code: 8,
      out: { text: '$ ls', others: [{ action_id: two['id'] }] },
    });
    run.reply = took;
    await at.ends(`confirm ${ID} --accept --action ${String(two['id'])}`, {
      writes: [`POST ${ACTION_PATH}`],
    });
  });

  it.each([
    [
      'a file edit',
      'create /w/a.txt\nfile_text: x\ny',
      {
        kind: 'FileEditorAction',
        command: 'create',
        path: '/w/a.txt',
        file_text: 'x\ny',
        view_range: null,
      },
    ],
    ['an unknown tool', 'pay\ndata: {"amount":3}', { kind: 'MCPToolAction', data: { amount: 3 } }],
  ])('prints all arguments of %s', async (_, text, action) => {
    run.stands(WAITING, event('ActionEvent', { action, tool_name: 'pay', tool_call_id: 'call_1' }));
    await at.ends(`confirm ${ID} --json`, { code: 8, out: { text, risk: 'unknown' } });
  });

  it('sends a rejection to the sandbox, with its key, once', async () => {
    run.stands(WAITING, one);
    run.reply = () => {
      at.v1.agentEvents.push(
        event('UserRejectObservation', { action_id: one['id'], source: 'user' }),
      );
      return { json: { success: true } };
    };
    await at.ends(['confirm', ID, '--reject', '--reason', 'not now'], {});
    expect(run.posted).toMatchObject([
      {
        path: ACTION_PATH,
        body: { accept: false, reason: 'not now' },
        headers: { 'x-session-api-key': SANDBOX_KEY },
      },
    ]);
  });

  it('exits 11 when the answer is lost, and sends it once', async () => {
    run.stands(WAITING, one);
    run.reply = () => ({ cut: true });
    await at.ends(`confirm ${ID} --accept`, { code: 11, writes: [`POST ${ACTION_PATH}`] });
  });

  it.each([
    ['another action than the pending one', WAITING, ['--action', 'seen-before']],
    ['a run that goes on', 'running', []],
  ])('sends no answer to %s: the server would apply it to the next one', async (_, word, flags) => {
    run.stands(word, one);
    await at.ends(['confirm', ID, '--accept', ...flags], { code: 6, writes: [] });
  });

  it('accepts again while the action stays pending, as at a server that still ends the run before', async () => {
    run.stands(WAITING, one);
    run.reply = () => (run.posted.length < 3 ? { json: { success: true } } : took());
    await at.ends(`confirm ${ID} --accept`, {});
    expect(run.posted.map(({ body }) => body)).toEqual([accepted, accepted, accepted]);
  });

  it.each([
    ['the accepted one was carried out', () => [observed(one), two]],
    ['the accepted one has no observation', () => [two]],
  ])('accepts no other action that is pending by then: %s', async (_, next) => {
    run.stands(WAITING, one);
    run.reply = () => {
      at.v1.agentEvents.push(...next());
      return { json: { success: true } };
    };
    await at.ends(`confirm ${ID} --accept`, {});
    expect(run.posted).toHaveLength(1);
  });

  it('exits 6 when an acceptance never takes effect', async () => {
    run.stands(WAITING, one);
    await at.ends(`confirm ${ID} --accept`, { code: 6, err: 'the action still waits ($ ls)' });
  });

  it.each(['paused', WAITING])(
    'exits 6 when the run is %s after a rejection and the action still waits',
    async (word) => {
      run.stands(WAITING, one);
      run.reply = () => {
        at.v1.agentState['execution_status'] = word;
        at.v1.agentEvents.push(event('PauseEvent', { source: 'user' }));
        return { json: { success: true } };
      };
      await at.ends(`confirm ${ID} --reject --json`, {
        code: 6,
        out: '',
        err: 'the action still waits',
      });
      expect(run.posted).toHaveLength(1);
    },
  );

  it.each([
    ['conv send --reject', ['send', ID, 'do it differently', '--reject']],
    ['conv follow --on-confirm reject', ['follow', ID, '--on-confirm', 'reject']],
  ])('makes %s exit 6 too, and no message is sent', async (_, line) => {
    run.stands(WAITING, one);
    await at.ends(line, { code: 6, writes: [`POST ${ACTION_PATH}`] });
  });
});

describe('conv resume', () => {
  it.each([
    ['the record shows the action', WAITING],
    ['the record is older', 'running'],
  ])('exits 8 and starts no run while an action waits and %s', async (_, recorded) => {
    run.stands(WAITING, one);
    at.v1.addConversation({ execution_status: recorded });
    await at.ends(`resume ${ID}`, { code: 8, writes: [], err: `acs conv confirm ${ID}` });
  });

  it('changes nothing of a run that goes on', async () => {
    run.stands('running', status('running'));
    at.v1.addConversation({ execution_status: 'paused' });
    await at.ends(`resume ${ID} --json`, { out: { changed: false }, writes: [] });
  });

  it('takes a refused run that has begun meanwhile as one that goes on', async () => {
    run.stands('paused', status('paused'));
    run.reply = () => {
      took();
      return refused;
    };
    await at.ends(`resume ${ID} --json`, { out: { changed: false }, writes: [RUN] });
  });

  it('starts a run whose events cannot be read', async () => {
    run.stands('paused', status('paused'));
    const { before } = at.v1;
    at.v1.before = (asked) =>
      /^\/agent\/.*\/events\/search$/.test(asked.path)
        ? { status: 500, type: 'text/plain', text: 'Error' }
        : before(asked);
    await at.ends(`resume ${ID} --json`, { out: { changed: true }, writes: [RUN] });
  });

  it('repeats a refused run while the server still ends the run before, and waits for its first status', async () => {
    run.stands('paused', status('paused'));
    run.reply = () => (run.posted.length < 3 ? refused : { json: { success: true } });
    const { before } = at.v1;
    let looks = 0;
    at.v1.before = (asked) => {
      if (run.posted.length === 3 && asked.path.endsWith('/events/search') && ++looks === 3)
        at.v1.agentEvents.push(status('running'));
      return before(asked);
    };
    await at.ends(`resume ${ID} --json`, { out: { changed: true }, writes: [RUN, RUN, RUN] });
    expect(looks).toBeGreaterThanOrEqual(3);
  });

  it('exits 6 when the run stays refused', async () => {
    run.stands('paused', status('paused'));
    run.reply = () => refused;
    await at.ends(`resume ${ID} --json`, {
      code: 6,
      err: [/already running/, /"status":409,"request":{"method":"POST"/],
    });
  });

  it('exits 6 when the sandbox is gone', async () => {
    run.stands('paused');
    at.v1.addConversation({
      sandbox_status: 'MISSING',
      execution_status: null,
      conversation_url: null,
    });
    await at.ends(`resume ${ID}`, { code: 6, writes: [] });
  });
});

it.each([
  ['an acceptance', 'the acceptance was sent', WAITING, ['confirm', ID, '--accept']],
  ['a message', 'the message was stored', 'error', ['send', ID, 'go on']],
])(
  '%s that was sent when a signal ends the wait for its effect is reported as sent',
  async (_, notice, word, line) => {
    const stop = new AbortController();
    const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
    clock.onSleep = () => {
      if (run.posted.length > 0) stop.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    };
    run.stands(word, one, status(word));
    run.reply = (): Reply => {
      if (word === 'error') at.v1.agentEvents.push(userMessage('go on'));
      return { json: { success: true } };
    };
    await at.ends(line, { code: 130, err: notice, clock, signal: stop.signal });
    expect(run.posted).toHaveLength(1);
  },
);
