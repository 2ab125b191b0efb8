/**
 * While an action waits for a confirmation, a message that runs, and a run, make a genuine server
 * carry it out (interface 7.4): recorded on both releases.
 */
import { describe, expect, it } from 'vitest';
import { NOT_FOUND } from '../../support/server.ts';
import { useScriptedRun } from '../../support/use-scripted.ts';
import { event, ID, status, userMessage } from '../support/v1-server.ts';

const WAITING = 'waiting_for_confirmation';
const SEND = `POST /api/v1/app-conversations/${ID}/send-message`;
const AT_SANDBOX = `POST /agent/api/conversations/${ID}/events`;
const RUN = `POST /agent/api/conversations/${ID}/run`;
const line = `send ${ID} hello`;
const down = { sandbox_status: 'ERROR', conversation_url: null };

describe.each(['1.11.0', '1.6.0'] as const)('conv send at a server of release %s', (release) => {
  const run = useScriptedRun({ release });
  const { at } = run;
  const write = release === '1.11.0' ? SEND : AT_SANDBOX;
  const cutSandbox = (): void => {
    const { before } = at.v1;
    at.v1.before = (asked) => (asked.path.startsWith('/agent/') ? { cut: true } : before(asked));
  };

  it.each([
    ['the record shows it', WAITING],
    ['the record is older and shows a run', 'running'],
    ['the record has no status for a moment', null],
  ])('sends no message while an action waits and %s', async (_, recorded) => {
    run.stands(WAITING, status(WAITING));
    at.v1.addConversation({ execution_status: recorded });
    await at.ends(line, { code: 8, writes: [], err: `acs conv confirm ${ID}` });
  });

  it('sends no message when the sandbox does not answer and the copy of its events ends with the action', async () => {
    run.stands(WAITING);
    at.v1.addConversation({ execution_status: null });
    at.v1.appEvents.push(status(WAITING));
    cutSandbox();
    await at.ends(line, { code: 8, writes: [] });
  });

  it('stores the message for a run that begins to wait for a confirmation at that moment', async () => {
    run.stands('running', status('running'));
    run.reply = () => {
      at.v1.agentState['execution_status'] = WAITING;
      return { json: { success: true } };
    };
    await at.ends(line, { writes: [write] });
    expect(run.posted[0]?.body).toMatchObject({ run: false });
  });

  it('starts a run for a message to a run that ends at that moment', async () => {
    run.stands('running', status('running'));
    run.reply = ({ path }) => {
      const isRun = path.endsWith('/run');
      at.v1.agentState['execution_status'] = isRun ? 'running' : 'finished';
      at.v1.agentEvents.push(
        ...(isRun ? [status('running')] : [status('finished'), userMessage('hello')]),
      );
      return { json: { success: true } };
    };
    await at.ends(line, { writes: [write, RUN] });
  });

  it('exits 0 with the next step when the sandbox stops answering after the message', async () => {
    run.stands('running', status('running'));
    run.reply = () => {
      cutSandbox();
      return { json: { success: true } };
    };
    await at.ends(line, { err: `acs conv resume ${ID}`, writes: [write] });
  });
});

describe('conv send', () => {
  const run = useScriptedRun();
  const { at, refused } = run;

  it('sends the message through the app server, once', async () => {
    run.stands('finished', userMessage('hello'), status('running'));
    await at.ends(line, { writes: [SEND] });
    expect(run.posted[0]?.body).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'hello' }],
      run: true,
    });
  });

  it('sends it to the sandbox where the server has no document and lacks the route of the app server', async () => {
    run.stands('finished', userMessage('hello'), status('running'));
    const { before } = at.v1;
    at.v1.before = (asked) => (asked.path === '/openapi.json' ? NOT_FOUND : before(asked));
    run.reply = ({ path }) =>
      path.endsWith('/send-message') ? NOT_FOUND : { json: { success: true } };
    await at.ends(line, { env: { ACS_CONFIG_DIR: `${at.dir}/no-document` } });
    expect(at.writes().filter((one) => one === AT_SANDBOX)).toHaveLength(1);
  });

  it.each<[number, number, string | null, string]>([
    [6, 409, 'not now', 'its sandbox is paused'],
    [6, 410, 'not now', 'its sandbox is gone'],
    [6, 404, 'nothing here', 'its sandbox is gone'],
    [5, 404, 'nothing here', 'the conversation is gone'],
    [11, 502, 'no', 'the agent server refuses it or does not answer'],
    [11, 502, null, 'a gateway answers'],
    [8, 409, 'not now', 'a confirmation is pending'],
  ])('exits %i after a %i with the text %j when %s', async (code, reply, detail, what) => {
    run.stands('finished');
    run.reply = () => {
      if (code === 5) at.v1.conversations.clear();
      else if (code === 8) at.v1.addConversation({ execution_status: WAITING });
      else if (what.includes('sandbox'))
        at.v1.addConversation({ ...down, sandbox_status: 'PAUSED' });
      if (detail !== null) return { status: reply, json: { detail } };
      return { status: 502, type: 'text/html', text: '<h1>Bad Gateway</h1>' };
    };
    await at.ends(line, { code, writes: [SEND], err: code === 11 ? `acs conv events ${ID}` : [] });
  });

  it.each(['error', 'paused', 'running'])(
    'starts a run for a message that a run with %s has not processed',
    async (word) => {
      run.stands(word, status(word));
      run.reply = () => {
        if (run.posted.length === 1) at.v1.agentEvents.push(userMessage('hello'));
        if (word === 'running') at.v1.agentState['execution_status'] = 'idle';
        return run.posted.length === 2 ? refused : { json: { success: true } };
      };
      const { before } = at.v1;
      at.v1.before = (asked) => {
        if (run.posted.length === 3) at.v1.agentEvents.push(status('running'));
        return before(asked);
      };
      await at.ends(line, { writes: [SEND, RUN, RUN] });
      expect(run.posted[0]?.body).toMatchObject({ run: word !== 'running' });
    },
  );

  it.each([
    [
      'was processed and failed',
      'error',
      [status('running'), event('ConversationErrorEvent'), status('error')],
    ],
    ['made the run wait for a confirmation again', WAITING, []],
  ])('starts no run for a message that %s', async (_, word, events) => {
    run.stands('error', status('error'));
    run.reply = () => {
      at.v1.agentState['execution_status'] = word;
      at.v1.agentEvents.push(userMessage('hello'), ...events);
      return { json: { success: true } };
    };
    await at.ends(line, { writes: [SEND] });
  });

  it('stores the message without a run when it comes with a rejection', async () => {
    const action = event('ActionEvent', {
      action: { kind: 'TerminalAction', command: 'ls' },
      tool_call_id: 'call_1',
    });
    run.stands(WAITING, action);
    run.reply = ({ path }) => {
      at.v1.agentState['execution_status'] = 'idle';
      if (path.endsWith('/respond_to_confirmation'))
        at.v1.agentEvents.push(
          event('UserRejectObservation', { action_id: action['id'], source: 'user' }),
        );
      if (path.endsWith('/run')) at.v1.agentEvents.push(status('running'));
      return { json: { success: true } };
    };
    await at.ends([...line.split(' '), '--reject'], {
      writes: [`${AT_SANDBOX}/respond_to_confirmation`, SEND, RUN],
    });
    expect(run.posted[1]?.body).toMatchObject({ role: 'user', run: false });
  });

  it('exits 6 and names the command that resumes the sandbox when it does not run', async () => {
    run.stands('finished');
    at.v1.addConversation({ ...down, sandbox_status: 'PAUSED', execution_status: 'finished' });
    await at.ends(line, { code: 6, err: 'resume' });
  });
});
