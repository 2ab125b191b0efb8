import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { routed, startFake, untilTestEnds, type Routes } from '../../support/server.ts';
import { connectTo } from '../support/client.ts';

const RECORDED = JSON.parse(
  readFileSync(
    new URL('../../fixtures/recordings/automation-1.13.1.json', import.meta.url),
    'utf8',
  ),
) as Record<string, { status: number; body: Record<string, unknown> }>;

const recorded = (name: string) => RECORDED[name]?.body ?? {};
const RUN = '00082e47-5c49-4f23-8f62-5bb7b06e1e15';
const CONVERSATION = '0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9';
const SEARCH = 'GET /api/conversations/search';
const CANCEL = `POST /api/automation/v1/runs/${RUN}/cancel`;
const INTERRUPT = `POST /api/conversations/${CONVERSATION}/interrupt`;
const working = { id: CONVERSATION, tags: { automationrunid: RUN } };
const other = { id: '00000000-0000-4000-8000-000000000000', tags: { automationrunid: 'x' } };

/** A backend as it was recorded, with these conversations. */
async function open(conversations: object[], routes: Routes = {}) {
  const backend = await untilTestEnds(
    startFake(
      routed({
        'GET /server_info': { json: recorded('server_info') },
        [SEARCH]: { json: { items: conversations, next_page_id: null } },
        [CANCEL]: { json: recorded('automation.runs.cancel') },
        [INTERRUPT]: { json: { success: true } },
        ...routes,
      }),
    ),
  );
  const notices: string[] = [];
  const server = await connectTo(backend.url, { notice: (text) => void notices.push(text) });
  onTestFinished(() => server.close());
  backend.asked.length = 0;
  return { server, backend, notices };
}

describe('a cancelled run of a backend', () => {
  it('has its conversation interrupted', async () => {
    const { server, backend, notices } = await open([other, working]);
    const { run, changed } = await server.automations.cancel(RUN);
    expect(run).toMatchObject({
      status: 'cancelled',
      conversation_id: CONVERSATION.replaceAll('-', ''),
    });
    expect({ changed, notices }).toEqual({ changed: true, notices: [] });
    expect(backend.lines()).toEqual([SEARCH, CANCEL, INTERRUPT]);
  });

  it('continues with a notice where it has no conversation yet', async () => {
    const { server, backend, notices } = await open([other]);
    await server.automations.cancel(RUN);
    expect(notices).toEqual([expect.stringContaining(`the program of run ${RUN}`)]);
    expect(backend.lines()).toEqual([SEARCH, CANCEL]);
  });

  it('has no program where it was not started', async () => {
    const pending = { ...recorded('automation.runs.cancel'), started_at: null };
    const { server, notices } = await open([], { [CANCEL]: { json: pending } });
    await server.automations.cancel(RUN);
    expect(notices).toEqual([]);
  });
});

it('the conversation of a run that continues is that with its tag', async () => {
  const { server } = await open([other, working]);
  const [run] = [recorded('automation.runs')['runs']].flat() as Record<string, unknown>[];
  const routes = { json: { runs: [run], total: 1 } };
  const { server: listing } = await open([working], {
    'GET /api/automation/v1/x/runs': routes,
  });
  const { items } = await listing.automations.runs('x', null);
  const [running] = items;
  if (running === undefined) throw new Error('no run');
  expect(running).toMatchObject({ status: 'running', phase: 'Installing dependencies' });
  expect(await server.automations.conversationOf(running)).toBe(CONVERSATION.replaceAll('-', ''));
  const ended = { ...running, status: 'failed' } as const;
  expect(await server.automations.conversationOf(ended)).toBeNull();
});
