import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { newSandbox } from '../../../../src/service/sandboxes/specs.ts';
import {
  appOfEachTest,
  conversation,
  countEvents,
  ended,
  expectAnswers,
  startedTask,
  until,
} from '../support.ts';

const app = appOfEachTest({ maxRunning: 2 });

interface Sandbox {
  id: string;
  status: string;
  status_detail: string | null;
  session_api_key: string | null;
}

const SANDBOXES = '/api/v1/sandboxes';
const SPECS = '/api/v1/sandbox-specs';

async function becomes(id: string, status: string): Promise<Sandbox> {
  const [found] = await until(
    () => app.get<(Sandbox | null)[]>(`${SANDBOXES}?id=${id}`),
    ([each]) => each?.status === status,
  );
  return found ?? expect.fail();
}

async function started(): Promise<Sandbox> {
  const created = (await app.post(SANDBOXES)).body as Sandbox;
  // Who gets the answer can use the sandbox.
  expect(created).toMatchObject({
    status: 'RUNNING',
    session_api_key: expect.any(String) as unknown,
  });
  return created;
}

describe('a sandbox', () => {
  it('starts, is paused when the pause is answered, resumes with the same key, and is deleted with its workspace', async () => {
    const running = await started();
    const { id } = running;
    expect(id).toMatch(/^[0-9A-Za-z]{22}$/);
    const exposed_urls = [
      {
        name: 'AGENT_SERVER',
        url: expect.any(String) as string,
        port: expect.any(Number) as number,
      },
    ];
    expect(running).toMatchObject({ exposed_urls });
    for (let count = 0; count < 2; count++) {
      await expectAnswers(app, [
        [`POST ${SANDBOXES}/${id}/pause`, undefined, 200, { success: true }],
        [
          `${SANDBOXES}?id=${id}`,
          undefined,
          200,
          [{ status: 'PAUSED', session_api_key: null, exposed_urls: null }],
        ],
      ]);
    }
    await expectAnswers(app, [
      [`POST ${SANDBOXES}/${id}/resume`, undefined, 200, { success: true }],
    ]);
    expect(await becomes(id, 'RUNNING')).toMatchObject({
      session_api_key: running.session_api_key,
    });
    const workspace = app.context.supervisor.folders.workspace(id);
    expect(existsSync(workspace)).toBe(true);
    await expectAnswers(app, [
      [`DELETE ${SANDBOXES}/${id}`, undefined, 422],
      [`DELETE ${SANDBOXES}/nope?sandbox_id=${id}`, undefined, 400],
      [`${SANDBOXES}?id=${id}`, undefined, 200, [{ status: 'RUNNING' }]],
      [`DELETE ${SANDBOXES}/${id}?sandbox_id=${id}`, undefined, 200, { success: true }],
      [`${SANDBOXES}?id=${id}`, undefined, 200, [null]],
      [`DELETE ${SANDBOXES}/nope?sandbox_id=nope`, undefined, 404],
      [`DELETE ${SANDBOXES}?sandbox_id=${id}`, undefined, 404],
      [`DELETE ${SANDBOXES}`, undefined, 422],
      [`POST ${SANDBOXES}/nope/pause`, undefined, 404],
      [`POST ${SANDBOXES}/nope/resume`, undefined, 404],
      [SANDBOXES, undefined, 422],
      [`${SANDBOXES}/${id}`, undefined, 405],
    ]);
    expect(existsSync(workspace)).toBe(false);
  });

  it('whose worker exits is in error with a reason, keeps its conversation, and runs again after a resume', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const [id, run] = [task.sandbox_id ?? '', task.app_conversation_id ?? ''];
    await ended(app, run);
    process.kill(app.store.sandboxes.get(id)?.worker_pid ?? 0, 'SIGKILL');
    expect((await becomes(id, 'ERROR')).status_detail).toContain('SIGKILL');
    expect(await conversation(app, run)).toMatchObject({
      sandbox_status: 'ERROR',
      execution_status: 'finished',
    });
    expect(await countEvents(app, run)).toBeGreaterThan(5);
    await app.post(`${SANDBOXES}/${id}/resume`);
    await becomes(id, 'RUNNING');
    expect(await conversation(app, run)).toMatchObject({
      sandbox_status: 'RUNNING',
      execution_status: 'finished',
    });
    const path = `/api/v1/app-conversations/${run}/file?file_path=acs-demo.sh`;
    expect(await app.get<string>(path)).toContain('#!/bin/sh');
  });

  it('that an earlier version ran without isolation is resumed only when process is named', async () => {
    const created = {
      ...newSandbox('bubblewrap', app.context.clock.stamp()),
      isolation: 'process' as const,
    };
    app.store.sandboxes.insert({ ...created, status: 'PAUSED' });
    const resume = `POST ${SANDBOXES}/${created.id}/resume`;
    const detail = expect.stringContaining(
      `acs sandbox start ${created.id} --spec process`,
    ) as string;
    await expectAnswers(app, [[resume, undefined, 501, { detail }]]);
    expect(app.store.sandboxes.get(created.id)?.status).toBe('PAUSED');
    await expectAnswers(app, [[`${resume}?sandbox_spec_id=process`, undefined, 200]]);
    await becomes(created.id, 'RUNNING');
    expect(app.store.sandboxes.get(created.id)).toMatchObject({
      spec_id: 'process',
      isolation: 'process',
    });
  });

  it('above the limit pauses the one that has been idle longest, and reports why', async () => {
    const [first, second, third] = [await started(), await started(), await started()];
    expect((await becomes(first.id, 'PAUSED')).status_detail).toContain('more than 2 sandboxes');
    for (const { id } of [second, third])
      expect(app.store.sandboxes.get(id)?.status).toBe('RUNNING');
  });
});

it('a sandbox is deleted by its id in the query alone, as OpenHandsCloudWorkspace 1.11 does', async () => {
  const { id } = await started();
  await expectAnswers(app, [
    [`DELETE ${SANDBOXES}?sandbox_id=${id}`, undefined, 200, { success: true }],
    [`${SANDBOXES}?id=${id}`, undefined, 200, [null]],
  ]);
});

describe('where bubblewrap does not work', () => {
  const why = 'bubblewrap (bwrap) is not installed';
  const without = appOfEachTest({ whyNoBubblewrap: why });

  it('a sandbox has the spec process when none is named, with a warning', async () => {
    const { body } = await without.post(SANDBOXES);
    const status_detail = `commands run without isolation: ${why}`;
    expect(body).toMatchObject({ status: 'RUNNING', sandbox_spec_id: 'process', status_detail });
    await expectAnswers(without, [
      [`${SPECS}/search`, undefined, 200, { items: [{ id: 'process' }] }],
    ]);
  });

  it.each(['bubblewrap', 'bubblewrap-offline'])(
    '%s is refused with 501, and none is made',
    async (spec) => {
      const starts = '/api/v1/app-conversations';
      const detail = expect.stringContaining('not installed') as string;
      await expectAnswers(without, [
        [`POST ${SANDBOXES}?sandbox_spec_id=${spec}`, undefined, 501, { detail }],
        [`POST ${starts}`, { replay_json: 'demo', sandbox_spec_id: spec }, 501, { detail }],
        [`${SANDBOXES}/search`, undefined, 200, { items: [] }],
        [`${starts}/start-tasks/search`, undefined, 200, { items: [] }],
      ]);
    },
  );

  it('an agent with a model runs without isolation only where process is named', async () => {
    const starts = '/api/v1/app-conversations';
    const { body } = await without.post(SANDBOXES);
    const { id } = body as { id: string };
    await without.post('/api/v1/settings', {
      agent_settings_diff: { llm: { model: 'openai/small' } },
    });
    const inDefault = { detail: expect.stringMatching(/not work here: .*not installed/) as string };
    const inSandbox = {
      detail: expect.stringMatching(`needs isolation, which sandbox ${id} does not`) as string,
    };
    await expectAnswers(without, [
      [`POST ${starts}`, {}, 501, inDefault],
      ['POST /api/conversations', { initial_user_msg: 'hi' }, 501, inDefault],
      [`POST ${starts}`, { sandbox_id: id }, 501, inSandbox],
      [`POST ${starts}`, { sandbox_id: id, replay_json: 'demo' }, 200],
      [`POST ${starts}`, { sandbox_spec_id: 'process' }, 200],
    ]);
    const named = (await without.post(`${SANDBOXES}?sandbox_spec_id=process`)).body as {
      id: string;
    };
    await expectAnswers(without, [
      [`POST ${starts}`, { sandbox_id: named.id }, 200],
      ['POST /api/v1/settings', { default_sandbox_spec_id: 'process' }, 200],
      [`POST ${starts}`, {}, 200],
      ['POST /api/conversations', { initial_user_msg: 'hi' }, 200],
    ]);
  });

  it('a sandbox that ran isolated is not resumed without isolation', async () => {
    without.store.sandboxes.insert({
      ...newSandbox('bubblewrap', without.context.clock.stamp()),
      status: 'PAUSED',
    });
    const before = without.store.sandboxes.all();
    for (const query of ['', '?sandbox_spec_id=process']) {
      await expectAnswers(without, [
        [`POST ${SANDBOXES}/${before[0]?.id ?? ''}/resume${query}`, undefined, 501],
      ]);
      expect(without.store.sandboxes.all()).toEqual(before);
    }
  });
});

it('specs are listed with the default first, in pages, and found by id', async () => {
  const tooSmall = { detail: [{ type: 'greater_than', loc: ['query', 'limit'] }] };
  const [process, bubblewrap, offline] = [
    { id: 'process' },
    { id: 'bubblewrap' },
    { id: 'bubblewrap-offline' },
  ];
  await expectAnswers(app, [
    [`${SPECS}/search`, undefined, 200, { items: [process, bubblewrap, offline] }],
    [
      `${SPECS}/search?limit=1&page_id=1`,
      undefined,
      200,
      { items: [bubblewrap], next_page_id: '2' },
    ],
    [`${SPECS}?id=process&id=nope`, undefined, 200, [process, null]],
    [`${SPECS}/search?limit=0`, undefined, 422, tooSmall],
    [`POST ${SANDBOXES}?sandbox_spec_id=nope`, undefined, 400],
  ]);
});
