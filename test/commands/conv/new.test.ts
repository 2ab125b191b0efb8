import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createWorld } from '../../support/world.ts';
import { pastDeadline, useNewWorld } from './new-world.ts';
import { type ConversationJson, endedRun, errorOf, json, type OutcomeJson, until } from './support.ts';

const at = useNewWorld();
const { acs, sent, sentBody } = at;

describe('conv new', () => {
  it('waits for the end of the start, and prints the record with `changed`', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--json');
    expect(ended.code).toBe(0);
    expect(json(ended)).toMatchObject({ changed: true, repository: null, dialect: 'v1' });
    expect(sent().map(({ route }) => route)).toEqual(['POST /api/v1/app-conversations']);
    expect(sentBody()['replay_json']).toBe('demo');
  });

  it('starts a replay that was recorded without a user message', async () => {
    const file = path.join(at.world.dir, 'silent.json');
    await writeFile(file, JSON.stringify([{ action: 'finish', args: { final_thought: 'Done without a word.' } }]));
    for (const api of ['v1', 'v0']) {
      const ended = await acs('--no-repo', '--replay', file, '--api', api, '--wait', '--json');
      expect(ended.code, ended.err).toBe(0);
      expect(json(ended)).toMatchObject({ outcome: { status: 'finished', exit_code: 0 } });
    }
  });

  it('--wait prints one document and exits with the outcome of the run', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--wait', '--json');
    expect(ended.code).toBe(0);
    const document = json<ConversationJson & { created_at: string; updated_at: string }>(ended);
    expect(Date.parse(document.updated_at)).toBeGreaterThanOrEqual(Date.parse(document.created_at));
    expect(document.outcome).toMatchObject({
      type: 'outcome',
      conversation_id: document.id,
      status: 'finished',
      exit_code: 0,
    });
  });

  it('--no-wait prints the start task', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--no-wait', '--json');
    expect(ended.code).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'starting', changed: true });
    expect(json(ended).start_task_id).toMatch(/^[0-9a-f]{32}$/);
    const waited = await at.world.acs('conv', 'wait', json(ended).start_task_id ?? '', '--json');
    expect(json<OutcomeJson>(waited)).toMatchObject({ status: 'finished', conversation_id: json(ended).id });
  });

  it('is stored as @last', async () => {
    const { id } = json(await acs('--no-repo', '--replay', 'demo', '--json'));
    const shown = await at.world.invoke({ args: ['conv', 'show', '@last', '-q'], env: { ACS_BASE_URL: at.proxy.url } });
    expect(shown.out).toBe(`${id}\n`);
  });

  it('is stored as @last by its start task when the start failed', async () => {
    const failed = await acs('--repo', 'http://127.0.0.1:9/no/repository.git', '--replay', 'demo', '--json');
    expect(failed.code, failed.err).toBe(1);
    const shown = await at.world.invoke({
      args: ['conv', 'show', '@last', '--json'],
      env: { ACS_BASE_URL: at.proxy.url },
    });
    expect(json(shown)).toMatchObject({ status: 'failed', start_task_id: json(failed).start_task_id });
  });

  it('sets the title by a rename, because servers ignore it in the start', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--title', 'Count the files', '--json');
    expect(json(ended).title).toBe('Count the files');
    expect(sent().map(({ route }) => route.split('?')[0])).toEqual([
      'POST /api/v1/app-conversations',
      `PATCH /api/v1/app-conversations/${json(ended).id}`,
    ]);
  });

  it('exits 1 and prints the reason when the run fails', async () => {
    const id = await endedRun(at.world);
    const ended = await at.world.acs('conv', 'send', id, 'go on', '--wait', '--json');
    expect(ended.code).toBe(1);
    expect(json<OutcomeJson>(ended)).toMatchObject({ status: 'failed', exit_code: 1, reason: { code: 'NoModel' } });
  });

  it('exits 124 at the deadline, prints the document, and does not stop the run', async () => {
    const ended = await pastDeadline(at.world, '--wait', '--json');
    expect(ended.code).toBe(124);
    expect(json(ended)).toMatchObject({ status: 'running', outcome: { exit_code: 124, reason: { code: 'timeout' } } });
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    expect((await at.world.acs('conv', 'stop', json(ended).id)).code).toBe(0);
  });

  it('prints its document when the interrupt comes while it reads the paused sandboxes', async () => {
    const look = { method: 'GET', path: '/api/v1/sandboxes/search', after: 2, latency: '30s' };
    const slow = await createWorld({ api: 'v1', spec: 'process', faults: { rules: [look] } });
    try {
      await slow.acs('conv', 'new', '--no-repo', '--replay', 'demo', '--wait');
      const interruption = new AbortController();
      const args = ['conv', 'new', '--no-repo', '--replay', 'demo', '--wait', '--id-file', 'run.id', '--json'];
      const waiting = slow.invoke({ args, signal: interruption.signal });
      const file = path.join(slow.dir, 'run.id');
      await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
      const id = readFileSync(file, 'utf8').trim();
      await until(async () => (await slow.acs('conv', 'wait', id)).code === 0);
      interruption.abort(new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 }));
      const ended = await waiting;
      expect({ code: ended.code, id: json(ended).id }).toEqual({ code: 143, id });
    } finally {
      await slow.close();
    }
  });

  it('--dry-run prints the requests and starts nothing', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--title', 'Demo', '--dry-run', '--json');
    expect(ended.code).toBe(0);
    expect(ended.err).toContain('then: name it \\"Demo\\"');
    expect(json<{ dry_run: boolean; requests: { method: string; url: string }[] }>(ended)).toMatchObject({
      dry_run: true,
      requests: [{ method: 'POST', url: `${at.proxy.url}/api/v1/app-conversations` }],
    });
    expect(sent()).toEqual([]);
  });

  it('names the sandboxes that the server paused for its own', async () => {
    const crowded = await createWorld({ spec: 'process', maxRunning: 2 });
    try {
      const started = await Promise.all(Array.from({ length: 2 }, () => crowded.acs('sandbox', 'start', '-q')));
      const ids = started.map(({ out }) => out.trim());
      const { code, err } = await crowded.acs('conv', 'new', '--no-repo', '--replay', 'demo');
      expect(code, err).toBe(0);
      expect(ids).toContain(/the server paused another sandbox to make room: (\w+)/.exec(err)?.[1]);
    } finally {
      await crowded.close();
    }
  });
});
