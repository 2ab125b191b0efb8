import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectTo } from '../support/connect.ts';
import { NOT_FOUND, startFake, type FakeServer } from '../support/fake-server.ts';
import { recordings } from '../support/recordings.ts';
import { ID } from '../support/v1-world.ts';

describe('another title over V0', () => {
  const PATH = `/api/conversations/${ID}`;
  let fake: FakeServer;
  let title: string;
  let agentState: string;
  /** What the server writes back after so many answers to a look. */
  let written: Map<number, string>;
  let looks: number;
  /** Looks from this one on fail. */
  let failsFrom: number;

  beforeEach(async () => {
    failsFrom = Number.POSITIVE_INFINITY;
    const recorded = recordings('1.6.0');
    title = 'Conversation 0a1b2';
    written = new Map();
    looks = 0;
    const record = { conversation_id: ID, conversation_version: 'V0', status: 'RUNNING', runtime_status: null };
    fake = await startFake(({ method, path, body }) => {
      if (path === '/api/options/config') return recorded.reply('probe.options-config');
      if (path === `${PATH}/events`) {
        const state = {
          observation: 'agent_state_changed',
          extras: { agent_state: agentState },
          source: 'environment',
        };
        return { json: { events: [{ id: 1, timestamp: '2026-11-21T10:00:00', ...state }], has_more: false } };
      }
      if (path !== PATH) return NOT_FOUND;
      if (method === 'PATCH') {
        ({ title } = body as { title: string });
        return { json: true };
      }
      if (++looks >= failsFrom) return { status: 500, json: { detail: 'Internal Server Error' } };
      const reply = { json: { ...record, title } };
      title = written.get(looks) ?? title;
      return reply;
    });
  });

  afterEach(() => fake.close());

  async function rename(): Promise<{ title: string | null; patches: number }> {
    const server = await connectTo(fake.url);
    try {
      const renamed = await server.conversations.rename(ID, 'Chosen');
      return { title: renamed.title, patches: fake.lines().filter((line) => line === `PATCH ${PATH}`).length };
    } finally {
      await server.close();
    }
  }

  it('is read again while the agent works, and sent again', async () => {
    agentState = 'running';
    written.set(2, 'Made up');
    expect(await rename()).toEqual({ title: 'Chosen', patches: 2 });
  });

  it('succeeds when a read after it fails', async () => {
    agentState = 'running';
    failsFrom = looks + 2;
    expect(await rename()).toEqual({ title: 'Chosen', patches: 1 });
  });

  it('is sent once when the agent does not work', async () => {
    agentState = 'finished';
    expect(await rename()).toEqual({ title: 'Chosen', patches: 1 });
  });
});
