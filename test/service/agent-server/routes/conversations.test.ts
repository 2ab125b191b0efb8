import { describe, expect, it } from 'vitest';
import { expectAnswers, type Exchange } from '../../app/support.ts';
import { ID, message, step, until } from '../support/worker.ts';
import { useSharedWorker } from '../support/shared-sandboxes.ts';

const shared = useSharedWorker([step.run('echo one'), step.say('Well?')]);
const { get, post } = shared;
const conversation = `/api/conversations/${ID}`;
const EVENTS = 'openhands.sdk.event';
const unknown = '00000000-0000-0000-0000-000000000000';
const answers = (...exchanges: Exchange[]) => expectAnswers(shared.worker, exchanges);
/** The detail of an answer with status 422. */
const refusal = (type: string, ...loc: (string | number)[]) => ({ detail: [{ type, loc }] });

describe('conversations', () => {
  it('are created once per id', async () => {
    const again = await shared.worker.startConversation([step.finish()]);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id: ID, execution_status: 'finished' });
  });

  it('are found with and without dashes, by search, count and batch', () =>
    answers(
      [`/api/conversations/${ID.replaceAll('-', '')}`, undefined, 200, { id: ID }],
      ['/api/conversations/search', undefined, 200, { items: [{ id: ID }], next_page_id: null }],
      ['/api/conversations/count', undefined, 200, 1],
      ['/api/conversations/count?status=finished', undefined, 200, 1],
      [`/api/conversations?ids=${ID}&ids=${unknown}`, undefined, 200, [{ id: ID }, null]],
    ));

  it('that are unknown or malformed are refused as on genuine servers', () =>
    answers(
      [`/api/conversations/${unknown}`, undefined, 404, { detail: 'Not Found' }],
      [
        `POST /api/conversations/${unknown}/events`,
        message('x'),
        404,
        { detail: `Conversation not found: ${unknown}` },
      ],
      [
        '/api/conversations/nope',
        undefined,
        422,
        refusal('uuid_parsing', 'path', 'conversation_id'),
      ],
      ['/api/conversations?ids=zz', undefined, 422, refusal('uuid_parsing', 'query', 'ids', 0)],
      ['/api/conversations', undefined, 422, refusal('missing', 'query', 'ids')],
      ['/api/conversations/count?status=bogus', undefined, 422, refusal('enum', 'query', 'status')],
      [
        '/api/conversations/search?status=bogus',
        undefined,
        422,
        refusal('enum', 'query', 'status'),
      ],
    ));

  it('take their title from the first message, and another one by PATCH', () =>
    answers(
      [conversation, undefined, 200, { title: 'Please do it.' }],
      [`PATCH ${conversation}`, { title: 'From the agent server' }, 200, { success: true }],
      [conversation, undefined, 200, { title: 'From the agent server' }],
      [`PATCH ${conversation}`, { title: 'x'.repeat(201) }, 422],
      [`POST ${conversation}/generate_title`, undefined, 200, { title: 'From the agent server' }],
    ));

  it('with a model whose endpoint is unknown end with an error that names the settings', async () => {
    const id = '11111111-2222-4333-8444-55555555555a';
    await shared.worker.startConversation(null, { conversation_id: id });
    const found = await until('the error', async () => {
      const { body } = await get(
        `/api/conversations/${id}/events/search?kind=${EVENTS}.conversation_error.ConversationErrorEvent`,
      );
      return (body as { items: unknown[] }).items[0];
    });
    const detail = expect.stringMatching(
      /acs settings set llm_model=<model> llm_base_url=<url>/,
    ) as string;
    expect(found).toMatchObject({ code: 'NoModel', detail });
    await answers(
      [`POST /api/conversations/${id}/ask_agent`, { question: 'Why?' }, 400],
      [`DELETE /api/conversations/${id}`, undefined, 200, { success: true }],
      [`/api/conversations/${id}`, undefined, 404],
      [`DELETE /api/conversations/${id}`, undefined, 404],
    );
    await until('the notice', () =>
      shared.worker.notices.find((notice) => notice.type === 'conversation' && notice.deleted),
    );
  });

  it('with a malformed replay are refused, and none is created', async () => {
    for (const replay of [[], [{ type: 'terminal' }], [{ type: 'fly', command: 'x' }]]) {
      const id = '11111111-2222-4333-8444-55555555555b';
      const { status, body } = await shared.worker.startConversation(replay, {
        conversation_id: id,
      });
      expect(status).toBe(422);
      expect(JSON.stringify(body)).toContain('replay');
      expect((await get(`/api/conversations/${id}`)).status).toBe(404);
    }
  });

  it('a start without workspace or agent is refused with 422 as on genuine servers', async () => {
    const workspace = { working_dir: shared.worker.workingDir };
    const start = 'POST /api/conversations';
    await answers(
      [start, {}, 422, refusal('missing', 'body', 'workspace')],
      [start, { workspace }, 422, refusal('value_error', 'body')],
      [start, { workspace, agent: {} }, 422, refusal('value_error', 'body', 'agent')],
      [start, { workspace, agent: { kind: 'Nope' } }, 422, refusal('value_error', 'body', 'agent')],
      ['/api/conversations/count', undefined, 200, 1],
    );
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
      expect(await post(`${conversation}/${member}`, body)).toEqual({
        status: 200,
        body: { success: true },
      });
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
    const set = `POST ${conversation}/security_analyzer`;
    const unusable = refusal('value_error', 'body', 'security_analyzer');
    await answers(
      [set, {}, 422, refusal('missing', 'body', 'security_analyzer')],
      ...[{}, { kind: '' }, { kind: 'Nope' }].map(
        (security_analyzer) => [set, { security_analyzer }, 422, unusable] as const,
      ),
      [set, { security_analyzer: 'x' }, 422],
    );
  });

  it('the final response is the one before a later message of the user', () =>
    answers(
      [`${conversation}/agent_final_response`, undefined, 200, { response: 'Well?' }],
      [`POST ${conversation}/events`, message('And then?', false), 200],
      [`${conversation}/agent_final_response`, undefined, 200, { response: 'Well?' }],
    ));

  it('refuse an invalid policy', () => {
    const set = `POST ${conversation}/confirmation_policy`;
    const stored = { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true };
    return answers(
      [set, { policy: { kind: 'Nope' } }, 422],
      [set, { policy: { kind: 'ConfirmRisky' } }, 200],
      [conversation, undefined, 200, { confirmation_policy: stored }],
      [set, { policy: { kind: 'NeverConfirm' } }, 200],
    );
  });
});
