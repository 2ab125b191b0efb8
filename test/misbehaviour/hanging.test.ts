/** A server that takes requests and never answers them, or never completes its answers. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ID, OTHER_ID, userMessage } from '../client/support/v1-server.ts';
import type { Asked } from '../support/server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const SANDBOX = 'sandbox-that-starts';
const at = useIdleV1();

/** Answers as usual until this request has come so many times, and nothing after that. */
function hangsAfter(times: number, isAsked: (asked: Asked) => boolean): void {
  const usual = at.v1.before;
  let count = 0;
  let hangs = false;
  at.v1.before = (asked) => {
    if (isAsked(asked)) hangs ||= ++count > times;
    return hangs ? { silence: true } : usual(asked);
  };
}

describe('a wait for a start', () => {
  beforeEach(() => {
    const now = new Date().toISOString();
    const task = {
      id: OTHER_ID,
      status: 'WAITING_FOR_SANDBOX',
      detail: null,
      app_conversation_id: null,
    };
    at.v1.tasks.set(OTHER_ID, {
      ...task,
      sandbox_id: null,
      request: {},
      created_at: now,
      updated_at: now,
    });
  });

  it.each(['wait', 'follow'])('ends at its deadline: conv %s', async (verb) => {
    hangsAfter(3, ({ path }) => path.endsWith('/start-tasks'));
    const ended = await at.ends(`conv ${verb} ${OTHER_ID} --wait-timeout 30s --json`, {
      code: 124,
    });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', reason: 'timeout', id: OTHER_ID });
  });
});

describe('a wait for a run', () => {
  it.each([['wait'], ['follow', '--tail', '1']])(
    'ends at its deadline although every read fails: conv %s',
    async (verb, ...flags) => {
      at.v1.addConversation();
      at.v1.agentEvents.push(userMessage('hello'));
      hangsAfter(0, ({ path }) => path.endsWith('/events/search'));
      const ended = await at.ends(['conv', verb, ID, ...flags, '--wait-timeout', '30s', '--json'], {
        code: 124,
      });
      expect(errorOf(ended)).toMatchObject({ code: 'timeout', id: ID });
    },
  );

  it('of several prints the outcomes of the others', async () => {
    at.v1.addConversation();
    at.v1.addConversation({ id: OTHER_ID, execution_status: 'finished' });
    const usual = at.v1.before;
    at.v1.before = (asked) =>
      asked.path.includes(ID) && asked.path.endsWith('/events/search')
        ? { silence: true }
        : usual(asked);
    const { code, out } = await at.acs(
      'conv',
      'wait',
      OTHER_ID,
      ID,
      '--wait-timeout',
      '30s',
      '--json',
    );
    expect(code).toBe(124);
    expect((JSON.parse(out) as { items: unknown[] }).items).toMatchObject([
      { conversation_id: OTHER_ID, exit_code: 0 },
      { conversation_id: ID, exit_code: 124, reason: { code: 'timeout' } },
    ]);
  });
});

describe('a wait for a sandbox', () => {
  const record = {
    id: SANDBOX,
    status: 'STARTING',
    sandbox_spec_id: 'image',
    session_api_key: null,
    exposed_urls: null,
  };

  it('ends at its deadline', async () => {
    at.v1.before = ({ path }) =>
      path === '/api/v1/sandboxes'
        ? { json: [{ ...record, created_at: '2026-11-21T10:12:00Z' }] }
        : null;
    hangsAfter(3, ({ path }) => path === '/api/v1/sandboxes');
    const ended = await at.ends(`sandbox resume ${SANDBOX} --wait-timeout 30s --json`, {
      code: 124,
    });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', id: SANDBOX });
  });
});

describe('an answer that is never complete', () => {
  it.each([
    ['conv list', 10],
    [`conv rename ${ID} other`, 10],
    [`conv diff ${ID}`, 10],
    ['secret delete NAME -y', 10],
    ['api GET /api/v1/anything --paginate', 10],
    [`sandbox exec ${SANDBOX} -- true`, 125],
  ])('ends %s after ten times --request-timeout', async (line, code) => {
    at.v1.before = ({ path }) =>
      /^\/api\/v1\/(?!web-client)/.test(path) ? { starts: '{"items":[' } : null;
    await at.ends(line, { code, err: 'did not complete its answer within 300 s' });
  });
});
