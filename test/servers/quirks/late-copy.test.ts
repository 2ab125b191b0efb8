import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import type { Reply } from '../support/fake-server.ts';
import { agentMessage, event, finish, ID, status, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});

afterEach(() => trap.close());

const LATE = 'may be up to 30 s behind';
/** The sandbox drops every connection. */
const cutSandbox = (): void => {
  trap.before = ({ path }): Reply | null => (path.startsWith('/agent/') ? { cut: true } : null);
  trap.fake.acceptSocket = () => false;
};
const texts = (out: string): string[] =>
  (JSON.parse(out) as { items: { text: string }[] }).items.map(({ text }) => text);
const asleep = { sandbox_status: 'PAUSED', execution_status: null, conversation_url: null, session_api_key: null };

describe('conv events', () => {
  it('prints the events of the sandbox when the app server has none', async () => {
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), finish('done'));
    const { code, out, err } = await trap.acs('conv', 'events', ID, '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(texts(out)).toEqual(['do it', 'done']);
  });

  it('prints the copy with a notice when the sandbox does not answer', async () => {
    trap.addConversation();
    trap.appEvents.push(userMessage('do it'));
    cutSandbox();
    const { code, out, err } = await trap.acs('conv', 'events', ID, '--json');
    expect(code).toBe(0);
    expect(texts(out)).toEqual(['do it']);
    expect(err).toContain(LATE);
    expect(err.match(/may be up to/g)).toHaveLength(1);
  });

  it('continues with the copy when the sandbox stops answering, and repeats no event', async () => {
    trap.addConversation();
    const all = Array.from({ length: 150 }, (_, index) => agentMessage(`message ${index}`));
    trap.agentEvents.push(...all);
    trap.appEvents.push(...all);
    trap.before = ({ path, query }) =>
      path.startsWith('/agent/') && query.get('page_id') !== null ? { cut: true } : null;
    for (const args of [['--json'], ['--json', '--tail', '200']]) {
      const { code, out, err } = await trap.acs('conv', 'events', ID, ...args);
      expect({ code, shown: texts(out) }).toEqual({ code: 0, shown: all.map((_, index) => `message ${index}`) });
      expect(err).toContain(LATE);
    }
  });

  it('prints the copy when the sandbox was recreated and has no events', async () => {
    trap.addConversation();
    trap.appEvents.push(userMessage('do it'), finish('done'));
    const { code, out } = await trap.acs('conv', 'events', ID, '--json');
    expect({ code, shown: texts(out) }).toEqual({ code: 0, shown: ['do it', 'done'] });
  });

  it('prints a notice when the sandbox is paused and the copy ends in the middle of the run', async () => {
    trap.addConversation(asleep);
    trap.appEvents.push(userMessage('do it'), status('running'));
    const { code, err } = await trap.acs('conv', 'events', ID, '--json');
    expect(code).toBe(0);
    expect(err).toContain('its events end in the middle of the run');
    expect(err).toContain('acs sandbox resume sb1');
    trap.appEvents.push(finish('done'), status('finished'));
    expect(await trap.acs('conv', 'events', ID, '--json')).toMatchObject({ code: 0, err: '' });
  });

  it('prints a notice with the place of the events when the app server has none', async () => {
    trap.addConversation(asleep);
    const { code, out, err } = await trap.acs('conv', 'events', ID, '--json');
    expect({ code, shown: texts(out) }).toEqual({ code: 0, shown: [] });
    expect(err).toContain('they are in its sandbox (it is paused): acs sandbox resume sb1');
  });
});

describe('the events of releases before 0.63', () => {
  it.each<[string, Reply]>([
    ['is not there', { status: 404, json: { detail: 'Not Found' } }],
    ['is a web page', { text: '<!doctype html>', type: 'text/html' }],
  ])('are read at their older path where the newer one %s', async (_, missing) => {
    trap.addConversation(asleep);
    trap.before = ({ path, query }) => {
      if (/^\/api\/v1\/conversation\//.test(path)) return missing;
      if (path !== '/api/v1/events/search') return null;
      expect(query.get('conversation_id__eq')).toBe(ID);
      return { json: { items: [userMessage('do it')], next_page_id: null } };
    };
    const { code, out } = await trap.acs('conv', 'events', ID, '--json');
    expect({ code, shown: texts(out) }).toEqual({ code: 0, shown: ['do it'] });
  });
});

describe('conv follow', () => {
  const lines = (out: string): Record<string, unknown>[] =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('prints late events before the outcome when the sandbox does not answer', async () => {
    trap.addConversation({ execution_status: 'finished' });
    trap.appEvents.push(userMessage('do it'), status('running'));
    cutSandbox();
    const lateAtMs = trap.clock.now() + 25_000;
    const last = [finish('the answer'), status('finished')];
    const { before } = trap;
    trap.before = (asked) => {
      if (trap.clock.now() >= lateAtMs) trap.appEvents.push(...last.splice(0));
      return before(asked);
    };
    const { code, out } = await trap.acs('conv', 'follow', ID, '--json');
    expect(code).toBe(0);
    expect(lines(out).map((line) => line['text'] ?? line['type'])).toEqual([
      'do it',
      'execution_status: running',
      'the answer',
      'execution_status: finished',
      'outcome',
    ]);
  });

  it('prints a notice when the last events never arrive', async () => {
    trap.addConversation({ execution_status: 'finished' });
    trap.appEvents.push(userMessage('do it'), event('ActionEvent', { tool_name: 'x' }));
    cutSandbox();
    const { code, err } = await trap.acs('conv', 'follow', ID, '--json');
    expect(code).toBe(0);
    expect(err).toContain('the last events of this run have not reached the app server');
  });
});
