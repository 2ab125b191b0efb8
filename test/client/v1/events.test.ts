import { describe, expect, it } from 'vitest';
import { readEvent } from '../../../src/protocol/v1/records.ts';
import { toEvent } from '../../../src/client/agent-server/event-records.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import type { Reply } from '../../support/server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import {
  agentMessage,
  event,
  finish,
  ID,
  SANDBOX_KEY,
  status,
  userMessage,
} from '../support/v1-server.ts';

const at = useV1({ noun: 'conv' });
const line = `events ${ID} --json`;
const asleep = {
  sandbox_status: 'PAUSED',
  execution_status: null,
  conversation_url: null,
  session_api_key: null,
};
const LATE = 'may be up to 30 s behind';
const isOfSandbox = (path: string): boolean => path.startsWith('/agent/');
/** The sandbox answers its pages so, or those after the first. */
const failAfter = (pages: 'none' | 'first', reply: Reply): void => {
  at.v1.before = ({ path, query }) =>
    isOfSandbox(path) && (pages === 'none' || query.has('page_id')) ? reply : null;
};
const ends = (texts: string[], err: string | string[] = '', words: string = line) =>
  at.ends(words, { out: { items: texts.map((text) => ({ text })) }, err });

describe('conv events', () => {
  it('prints those of the sandbox, without pieces of a text and snapshots, and no key of the sandbox', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(
      userMessage('hello'),
      event('StreamingDeltaEvent', { content: 'b' }),
      event('ConversationStateUpdateEvent', { key: 'full_state', value: {} }),
      agentMessage(`env: ${SANDBOX_KEY}`),
    );
    const { out } = await ends(['hello', 'env: <redacted>']);
    expect(out).not.toContain(SANDBOX_KEY);
  });

  it.each<[string, Reply | null]>([
    ['does not answer', { cut: true }],
    ['has lost the conversation', { status: 404, json: { detail: 'Conversation not found' } }],
    ['was recreated and has no events', null],
  ])(
    'prints the copy of the app server, each event once, when the sandbox %s',
    async (_, reply) => {
      at.v1.addConversation();
      const last = finish('done');
      at.v1.appEvents.push(userMessage('do it'), last, last);
      if (reply !== null) failAfter('none', reply);
      const { err } = await ends(['do it', 'done'], reply !== null && 'cut' in reply ? LATE : '');
      expect(err.match(/may be up to/g) ?? []).toHaveLength(err === '' ? 0 : 1);
    },
  );

  it.each([[''], [' --tail 200']])(
    'continues with the copy when the sandbox stops answering%s',
    async (flags) => {
      at.v1.addConversation();
      const all = Array.from({ length: 150 }, (_, index) => agentMessage(`message ${index}`));
      at.v1.agentEvents.push(...all, all[149] ?? {});
      at.v1.appEvents.push(...all);
      failAfter('first', { cut: true });
      await ends(
        all.map((_, index) => `message ${index}`),
        LATE,
        line + flags,
      );
    },
  );

  it.each(['none', 'first'] as const)(
    'waits for a silent sandbox once, after %s of its pages, and prints the copy',
    async (pages) => {
      at.v1.addConversation();
      at.v1.appEvents.push(
        ...Array.from({ length: 250 }, (_, index) => agentMessage(`message ${index}`)),
      );
      at.v1.agentEvents.push(...at.v1.appEvents);
      failAfter(pages, { silence: true });
      await ends(
        at.v1.appEvents.map((_, index) => `message ${index}`),
        'this is the copy of the app server',
        `${line} --request-timeout 1s`,
      );
      const unanswered = at.server.asked.filter(
        ({ path, query }) => isOfSandbox(path) && (pages === 'none' || query.has('page_id')),
      );
      expect(unanswered).toHaveLength(1);
    },
  );

  it('of a paused sandbox says that the newest events may be missing, unless the copy ends with the end of a run', async () => {
    at.v1.addConversation(asleep);
    const texts: string[] = [];
    const copyGets = async (
      record: Record<string, unknown>,
      text: string,
      err: string | string[],
    ): Promise<void> => {
      at.v1.appEvents.push(record);
      texts.push(text);
      await ends(texts, err);
    };
    const mayLack = ['the app server may lack its newest events', 'acs sandbox resume sb1'];
    await copyGets(userMessage('do it'), 'do it', mayLack);
    await copyGets(status('running'), 'execution_status: running', mayLack);
    await copyGets(finish('done'), 'done', mayLack);
    await copyGets(status('finished'), 'execution_status: finished', '');
    await copyGets(userMessage('more'), 'more', mayLack);
  });

  it('names the place of the events when the app server has none', async () => {
    at.v1.addConversation(asleep);
    await ends([], 'they are in its sandbox (it is paused): acs sandbox resume sb1');
  });

  it.each<[string, Reply]>([
    ['is not there', { status: 404, json: { detail: 'Not Found' } }],
    ['is a web page', { text: '<!doctype html>', type: 'text/html' }],
  ])('reads the path of releases before 0.63 where the newer one %s', async (_, missing) => {
    at.v1.addConversation(asleep);
    at.v1.before = ({ path, query }) => {
      if (/^\/api\/v1\/conversation\//.test(path)) return missing;
      const isOlder = path === '/api/v1/events/search' && query.get('conversation_id__eq') === ID;
      return isOlder ? { json: { items: [status('finished')], next_page_id: null } } : null;
    };
    await ends(['execution_status: finished']);
  });

  it('prints times in UTC, and sends them without a zone: with one the event of exactly that time is missing', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push({
      ...userMessage('exactly then'),
      timestamp: '2026-11-21T10:15:35.212000',
    });
    const { out } = await ends(['exactly then'], '', `${line} --since 2026-11-21T10:15:35.212Z`);
    expect(out).toMatch(/"2026-11-21T10:15:35\.212(000)?Z"/);
    const sent = at.server.asked.flatMap(({ query }) => query.get('timestamp__gte') ?? []);
    expect(sent).toEqual(['2026-11-21T10:15:35.212']);
  });

  it('compares times itself when the release answers every filter by time with 500', async () => {
    at.v1.addConversation(asleep);
    at.v1.appEvents.push(
      { ...userMessage('before'), timestamp: '2026-11-21T10:15:00.000000' },
      { ...finish('after'), timestamp: '2026-11-21T10:16:00.000000' },
    );
    at.v1.before = ({ query }) =>
      query.has('timestamp__gte')
        ? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
        : null;
    await at.ends(`${line} --since 2026-11-21T10:15:30Z`, { out: { items: [{ text: 'after' }] } });
  });
});

const word = (value: unknown) => ({
  kind: 'ConversationStateUpdateEvent',
  key: 'execution_status',
  value,
});

it.each([
  [{ kind: 'MessageEvent', source: 'user' }, 'message'],
  [{ kind: 'MessageEvent', source: 'agent' }, 'activity'],
  [{ kind: 'ActionEvent', source: 'agent' }, 'activity'],
  [{ kind: 'ActionEvent', source: 'user' }, null],
  [{ kind: 'ObservationEvent', source: 'environment' }, null],
  [{ kind: 'UserRejectObservation', source: 'environment' }, 'rejection'],
  [word('running'), 'status:running'],
  [word('RUNNING'), 'status:running'],
  [word('finished'), 'status:other'],
  [word(null), null],
  [{ kind: 'ConversationStateUpdateEvent', key: 'stats', value: 'running' }, null],
])('the run signal of the V1 event %j is %s', (members, signal) => {
  const record = readEvent({ id: 'e', timestamp: null, ...members });
  expect(toEvent(record, 'c', new Redaction([])).signal).toBe(signal);
});
