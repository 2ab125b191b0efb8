import { describe, expect, it } from 'vitest';
import { appWithEachDialect } from './support.ts';

const { app, ids } = appWithEachDialect();
const { get } = app;

describe('V0 of a service that serves both dialects', () => {
  it('names the sandbox of its own conversations when V1 can use it', async () => {
    const shown = await get(`/api/conversations/${ids.v0}`);
    expect(shown).toMatchObject({ sandbox_id: null, local_sandbox_id: ids.sandbox });
  });

  it('has the status of a run of its own in the record, for lists', async () => {
    const record = await get(`/api/conversations/${ids.v0}`);
    expect(record).toMatchObject({
      status: 'RUNNING',
      conversation_version: 'V0',
      local_agent_state: 'finished',
    });
    expect(await get(`/api/conversations/${ids.v1}`)).not.toHaveProperty('local_agent_state');
  });
});
