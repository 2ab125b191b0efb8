import { describe, expect, it } from 'vitest';
import { ID, message, startConversation, step, until } from '../support/worker.ts';
import { useSharedWorker } from '../support/shared-worker.ts';

const shared = useSharedWorker([step.run('echo one'), step.say('Well?')]);
const { get, post } = shared;
const conversation = `/api/conversations/${ID}`;
const EVENTS = 'openhands.sdk.event';
const unknown = '00000000-0000-0000-0000-000000000000';

describe('conversations', () => {
  it('are created once per id', async () => {
    const again = await startConversation(shared.worker, [step.finish()]);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id: ID, execution_status: 'finished' });
  });

  it('are found with and without dashes, by search, count and batch', async () => {
    expect((await get(`/api/conversations/${ID.replaceAll('-', '')}`)).body).toMatchObject({ id: ID });
    expect((await get('/api/conversations/search')).body).toMatchObject({ items: [{ id: ID }], next_page_id: null });
    expect((await get('/api/conversations/count')).body).toBe(1);
    expect((await get(`/api/conversations?ids=${ID}&ids=${unknown}`)).body).toMatchObject([{ id: ID }, null]);
  });

  it('that are unknown or malformed are refused as on genuine servers', async () => {
    expect(await get(`/api/conversations/${unknown}`)).toEqual({ status: 404, body: { detail: 'Not Found' } });
    expect(await post(`/api/conversations/${unknown}/events`, message('x'))).toEqual({
      status: 404,
      body: { detail: `Conversation not found: ${unknown}` },
    });
    const error = 'invalid character: found `n` at 0';
    expect(await get('/api/conversations/nope')).toEqual({
      status: 422,
      body: {
        detail: [
          {
            type: 'uuid_parsing',
            loc: ['path', 'conversation_id'],
            msg: `Input should be a valid UUID, ${error}`,
            input: 'nope',
            ctx: { error },
          },
        ],
      },
    });
  });

  it('take their title from the first message, and another one by PATCH', async () => {
    expect((await get(conversation)).body).toMatchObject({ title: 'Please do it.' });
    const { body } = await shared.worker.call('PATCH', conversation, { title: 'From the agent server' });
    expect(body).toEqual({ success: true });
    expect((await get(conversation)).body).toMatchObject({ title: 'From the agent server' });
    expect((await shared.worker.call('PATCH', conversation, { title: 'x'.repeat(201) })).status).toBe(422);
    expect((await post(`${conversation}/generate_title`)).body).toEqual({ title: 'From the agent server' });
  });

  it('without a replay end with an error that names both next steps', async () => {
    const id = '11111111-2222-4333-8444-55555555555a';
    await startConversation(shared.worker, null, { conversation_id: id });
    const found = await until('the error', async () => {
      const { body } = await get(
        `/api/conversations/${id}/events/search?kind=${EVENTS}.conversation_error.ConversationErrorEvent`,
      );
      return (body as { items: unknown[] }).items[0];
    });
    expect(found).toMatchObject({ code: 'NoModel' });
    expect((await post(`/api/conversations/${id}/ask_agent`, { question: 'Why?' })).status).toBe(400);
    expect((await shared.worker.call('DELETE', `/api/conversations/${id}`)).body).toEqual({ success: true });
    expect((await get(`/api/conversations/${id}`)).status).toBe(404);
    expect((await shared.worker.call('DELETE', `/api/conversations/${id}`)).status).toBe(404);
    await until('the notice', () =>
      shared.worker.notices.find((notice) => notice.type === 'conversation' && notice.deleted),
    );
  });

  it('with a malformed replay are refused, and none is created', async () => {
    for (const replay of [[], [{ type: 'terminal' }], [{ type: 'fly', command: 'x' }]]) {
      const id = '11111111-2222-4333-8444-55555555555b';
      const { status, body } = await startConversation(shared.worker, replay, { conversation_id: id });
      expect(status).toBe(422);
      expect(JSON.stringify(body)).toContain('replay');
      expect((await get(`/api/conversations/${id}`)).status).toBe(404);
    }
  });

  it('a start without workspace or agent is refused with 422 as on genuine servers', async () => {
    const refusal = async (body: unknown): Promise<unknown> => {
      const answer = await post('/api/conversations', body);
      expect(answer.status).toBe(422);
      return (answer.body as { detail: { type: string; loc: unknown[]; msg: string }[] }).detail.map(
        ({ type, loc, msg }) => ({ type, loc, msg }),
      );
    };
    const workspace = { working_dir: shared.worker.workingDir };
    expect(await refusal({})).toEqual([{ type: 'missing', loc: ['body', 'workspace'], msg: 'Field required' }]);
    expect(await refusal({ workspace })).toEqual([
      {
        type: 'value_error',
        loc: ['body'],
        msg: 'Value error, One of `agent`, `agent_settings`, or `agent_profile_id` must be provided',
      },
    ]);
    const unknownKind = (kind: string) => [
      {
        type: 'value_error',
        loc: ['body', 'agent'],
        msg: `Value error, Unknown kind '${kind}' for openhands.sdk.agent.base.AgentBase; Expected one of: ['ACPAgent', 'Agent']`,
      },
    ];
    expect(await refusal({ workspace, agent: {} })).toEqual(unknownKind(''));
    expect(await refusal({ workspace, agent: { kind: 'Nope' } })).toEqual(unknownKind('Nope'));
    expect((await get('/api/conversations/count')).body).toBe(1);
  });

  it('invalid statuses and ids are refused with 422 as on genuine servers', async () => {
    const expected =
      "'idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck' or 'deleting'";
    const bogus = {
      type: 'enum',
      loc: ['query', 'status'],
      msg: `Input should be ${expected}`,
      input: 'bogus',
      ctx: { expected },
    };
    for (const route of ['count', 'search']) {
      expect(await get(`/api/conversations/${route}?status=bogus`)).toEqual({ status: 422, body: { detail: [bogus] } });
    }
    expect((await get('/api/conversations/count?status=finished')).body).toBe(1);
    const error = 'invalid character: found `z` at 0';
    expect(await get('/api/conversations?ids=zz')).toEqual({
      status: 422,
      body: {
        detail: [
          {
            type: 'uuid_parsing',
            loc: ['query', 'ids', 0],
            msg: `Input should be a valid UUID, ${error}`,
            input: 'zz',
            ctx: { error },
          },
        ],
      },
    });
    expect((await get('/api/conversations')).body).toEqual({
      detail: [{ type: 'missing', loc: ['query', 'ids'], msg: 'Field required', input: null }],
    });
  });

  it('a change of policy or analyzer is one event with the value, and nothing when it is equal', async () => {
    const changes = async (): Promise<unknown[]> => {
      const kind = `${EVENTS}.conversation_state.ConversationStateUpdateEvent`;
      const { body } = await get(`${conversation}/events/search?kind=${kind}`);
      const { items } = body as { items: { key: string; value?: unknown }[] };
      return items
        .filter(({ key }) => key === 'confirmation_policy' || key === 'security_analyzer')
        .map(({ key, value }) => ({ key, value }));
    };
    const set = async (member: string, value: unknown): Promise<void> => {
      const body = { [member === 'confirmation_policy' ? 'policy' : member]: value };
      expect(await post(`${conversation}/${member}`, body)).toEqual({ status: 200, body: { success: true } });
    };
    const before = (await changes()).length;
    for (const repeated of ['first', 'again']) {
      await set('confirmation_policy', { kind: 'AlwaysConfirm' });
      await set('security_analyzer', { kind: 'LLMSecurityAnalyzer' });
      expect([repeated, (await changes()).slice(before)]).toEqual([
        repeated,
        [
          { key: 'confirmation_policy', value: { kind: 'AlwaysConfirm' } },
          { key: 'security_analyzer', value: { kind: 'LLMSecurityAnalyzer' } },
        ],
      ]);
    }
    await set('security_analyzer', null);
    await set('confirmation_policy', { kind: 'NeverConfirm' });
    expect((await changes()).slice(before + 2)).toEqual([
      { key: 'security_analyzer' },
      { key: 'confirmation_policy', value: { kind: 'NeverConfirm' } },
    ]);
  });

  it('an analyzer that is missing or of an unknown kind is refused with 422 as on genuine servers', async () => {
    const set = (body: unknown) => post(`${conversation}/security_analyzer`, body);
    expect(await set({})).toEqual({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'security_analyzer'], msg: 'Field required', input: {} }] },
    });
    for (const [kind, analyzer] of [
      ['', {}],
      ['', { kind: '' }],
      ['Nope', { kind: 'Nope' }],
    ] as const) {
      const error = `Unknown kind '${kind}' for openhands.sdk.security.analyzer.SecurityAnalyzerBase; Expected one of: ['PatternSecurityAnalyzer', 'PolicyRailSecurityAnalyzer', 'EnsembleSecurityAnalyzer', 'GraySwanAnalyzer', 'LLMSecurityAnalyzer']`;
      expect(await set({ security_analyzer: analyzer })).toEqual({
        status: 422,
        body: {
          detail: [
            {
              type: 'value_error',
              loc: ['body', 'security_analyzer'],
              msg: `Value error, ${error}`,
              input: {},
              ctx: { error },
            },
          ],
        },
      });
    }
    expect((await set({ security_analyzer: 'x' })).status).toBe(422);
  });

  it('the final response is the one before a later message of the user', async () => {
    const response = async (): Promise<unknown> => (await get(`${conversation}/agent_final_response`)).body;
    expect(await response()).toEqual({ response: 'Well?' });
    expect((await post(`${conversation}/events`, message('And then?', false))).status).toBe(200);
    expect(await response()).toEqual({ response: 'Well?' });
  });

  it('refuse an invalid policy', async () => {
    const set = (policy: unknown) => post(`${conversation}/confirmation_policy`, { policy });
    expect((await set({ kind: 'Nope' })).status).toBe(422);
    expect((await set({ kind: 'ConfirmRisky' })).status).toBe(200);
    expect((await get(conversation)).body).toMatchObject({
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
    });
    expect((await set({ kind: 'NeverConfirm' })).status).toBe(200);
  });
});
