/**
 * `--wait-timeout` at servers whose every answer takes long: the deadline aborts the request in
 * flight.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Asked, Reply } from '../support/server.ts';
import { finish, ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const SANDBOX = 'sandbox-1';
const PROBES = new Set([
  '/openapi.json',
  '/api/v1/web-client/config',
  '/api/v1/app-conversations/count',
  '/api/options/config',
]);

const at = useIdleV1();
/** What the sandbox is now. */
let sandboxStatus: string;

beforeEach(() => {
  sandboxStatus = 'RUNNING';
});
const sandboxRecord = (): Record<string, unknown> => ({
  id: SANDBOX,
  status: sandboxStatus,
  sandbox_spec_id: 'image',
  session_api_key: null,
  exposed_urls: null,
  created_at: '2026-11-21T10:12:00Z',
});

function sandboxRoutes({ method, path }: Asked): Reply | null {
  if (path === '/api/v1/sandboxes' && method === 'GET') return { json: [sandboxRecord()] };
  if (path === '/api/v1/sandbox-specs/search')
    return { json: { items: [{ id: 'image' }], next_page_id: null } };
  if (path === '/api/v1/sandboxes/search')
    return { json: { items: [sandboxRecord()], next_page_id: null } };
  if (path.startsWith('/api/v1/sandboxes/') || method === 'POST')
    return { json: { success: true } };
  return null;
}

/** Every answer but those of the probe takes so long. */
function answersTake(ms: number, usual: (asked: Asked) => Reply | null = sandboxRoutes): void {
  const { handler } = at.server;
  at.v1.before = usual;
  at.server.handler = async (asked) => {
    if (!PROBES.has(asked.path)) await at.clock.sleep(ms);
    return await handler(asked);
  };
}

const asked = (): string[] =>
  at.server.lines().filter((line) => !PROBES.has(line.split(' ')[1] ?? ''));

describe('with answers that take 5 s, --wait-timeout 6s', () => {
  it.each([
    ['conv wait', 3, ['conv', 'wait', ID]],
    ['conv follow', 3, ['conv', 'follow', ID]],
    ['conv send --wait', 3, ['conv', 'send', ID, 'hello', '--wait']],
    ['conv resume --wait', 3, ['conv', 'resume', ID, '--wait']],
    ['sandbox pause', 3, ['sandbox', 'pause', SANDBOX]],
    ['sandbox resume', 3, ['sandbox', 'resume', SANDBOX]],
    ['sandbox start', 3, ['sandbox', 'start', '--spec', 'image']],
    ['sandbox delete', 3, ['sandbox', 'delete', SANDBOX, '-y']],
  ])('ends %s with 124 after the request in flight and at most one read', async (_, most, args) => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('hello'), status('running'));
    if (args[1] === 'resume') sandboxStatus = 'PAUSED';
    answersTake(5_000);
    const ended = await at.ends([...args, '--wait-timeout', '6s', '--json'], { code: 124 });
    expect(errorOf(ended).code).toBe('timeout');
    // One that was answered, the one in flight, and one read.
    expect(asked().length, asked().join('\n')).toBeLessThanOrEqual(most);
    const writes = at.server.asked
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`);
    // The list of specs is answered after 5 s, so the create is in flight at the deadline.
    const isCreate = args[1] === 'start';
    expect(writes).toEqual(isCreate ? ['POST /api/v1/sandboxes'] : []);
    if (isCreate)
      expect(errorOf(ended).message).toContain('whether the sandbox was created is not known');
  });
});

it('sandbox start ends with 124 at its deadline, and states that the sandbox may have been created', async () => {
  answersTake(7_000);
  const ended = await at.ends('sandbox start --wait-timeout 6s --json', { code: 124 });
  expect(asked()).toEqual(['POST /api/v1/sandboxes']);
  expect(errorOf(ended).message).toContain('whether the sandbox was created is not known');
});

describe('the deadline of a watch', () => {
  it.each(['wait', 'follow'])(
    'aborts the request in flight of the follower of conv %s',
    async (verb) => {
      at.v1.addConversation();
      at.v1.agentEvents.push(userMessage('hello'), status('running'));
      const { handler } = at.server;
      const startedAtMs = at.clock.now();
      let inFlight: Asked | null = null;
      const readsAfter: boolean[] = [];
      at.server.handler = async (request) => {
        const passedMs = at.clock.now() - startedAtMs;
        if (passedMs >= 2_000 && inFlight === null) {
          inFlight = request;
          return { silence: true };
        }
        if (passedMs >= 9_500) {
          // Of the read after the deadline: answered a second later.
          await at.clock.sleep(1_000);
          readsAfter.push(inFlight?.isAborted === true);
        }
        return await handler(request);
      };
      const ended = await at.ends(`conv ${verb} ${ID} --wait-timeout 10s --json`, { code: 124 });
      expect(errorOf(ended).message).toContain('is still running after 10s');
      expect(new Set(readsAfter)).toEqual(new Set([true]));
    },
  );

  it('is followed by a read of the events that a run which has ended meanwhile had not delivered', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('hello'), status('running'));
    const { handler } = at.server;
    const startedAtMs = at.clock.now();
    let isSilent = false;
    at.server.handler = async (request) => {
      const passedMs = at.clock.now() - startedAtMs;
      if (passedMs >= 2_000 && !isSilent) {
        isSilent = true;
        return { silence: true };
      }
      if (passedMs >= 9_500 && at.v1.conversations.get(ID)!['execution_status'] !== 'finished') {
        at.v1.conversations.get(ID)!['execution_status'] = 'finished';
        at.v1.agentState['execution_status'] = 'finished';
        at.v1.agentEvents.push(finish('the last word'), status('finished'));
      }
      return await handler(request);
    };
    const ended = await at.ends(`conv follow ${ID} --wait-timeout 10s --json`, {});
    const kinds = ended.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; kind?: string; status?: string })
      .map(({ type, kind, status: end }) => (type === 'event' ? kind : `${type} ${end}`));
    expect(kinds).toEqual([
      'MessageEvent',
      'ConversationStateUpdateEvent',
      'ActionEvent',
      'ConversationStateUpdateEvent',
      'outcome finished',
    ]);
  });
});

it('an error that the deadline of a watch causes names the server', async () => {
  at.v1.addConversation();
  at.v1.agentEvents.push(userMessage('hello'), status('running'));
  const ended = await at.ends(`conv wait ${ID} --wait-timeout 3s`, { code: 124 });
  expect(ended.err).toContain(`\n  server: ${at.server.url}\n`);
});

describe('a change whose answer does not come before the deadline', () => {
  it('is exit 0 when the read after the deadline shows that it was made', async () => {
    at.v1.before = (request) => {
      if (request.method !== 'POST') return sandboxRoutes(request);
      sandboxStatus = 'PAUSED';
      return { silence: true };
    };
    const ended = await at.ends(`sandbox pause ${SANDBOX} --wait-timeout 6s --json`, {});
    expect(JSON.parse(ended.out)).toMatchObject({ id: SANDBOX, status: 'paused', changed: true });
  });

  it('is exit 124 with the state that was read after the deadline', async () => {
    at.v1.before = (request) =>
      request.method === 'POST' ? { silence: true } : sandboxRoutes(request);
    const ended = await at.ends(`sandbox pause ${SANDBOX} --wait-timeout 6s --json`, { code: 124 });
    expect(errorOf(ended)).toMatchObject({
      message: `sandbox ${SANDBOX} is still running after 6s`,
      id: SANDBOX,
    });
  });

  it.each([
    ['is exit 0 and "changed": true of a sandbox delete that was carried out', true, 0],
    ['is exit 124 with the last state of a sandbox delete that was not', false, 124],
  ])('%s', async (_, isDone, code) => {
    let isGone = false;
    at.v1.before = (request) => {
      if (request.method === 'DELETE') {
        isGone = isDone;
        return { silence: true };
      }
      return isGone && request.path === '/api/v1/sandboxes'
        ? { json: [null] }
        : sandboxRoutes(request);
    };
    const ended = await at.ends(`sandbox delete ${SANDBOX} -y --wait-timeout 6s --json`, { code });
    if (isDone)
      expect(JSON.parse(ended.out)).toMatchObject({
        id: SANDBOX,
        status: 'missing',
        changed: true,
      });
    else expect(errorOf(ended).message).toBe(`sandbox ${SANDBOX} is still running after 6s`);
  });

  it('of conv send names that the message may have been sent', async () => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.agentState['execution_status'] = 'finished';
    at.v1.before = ({ method }) => (method === 'POST' ? { silence: true } : null);
    const ended = await at.ends(`conv send ${ID} hello --wait --wait-timeout 6s --json`, {
      code: 124,
    });
    expect(errorOf(ended).message).toContain('whether the message was sent is not known');
  });
});

it('a probe that is not answered ends with 124 at the deadline of the command', async () => {
  at.server.handler = () => ({ silence: true });
  for (const args of [
    ['conv', 'wait', ID],
    ['sandbox', 'resume', SANDBOX],
    ['conv', 'new', 'hello', '--no-repo'],
  ]) {
    await at.ends([...args, '--wait-timeout', '6s', '--json'], { code: 124 });
  }
});
