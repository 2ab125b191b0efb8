import { describe, expect, it } from 'vitest';
import { ID } from '../../client/support/v1-server.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recorded, useAutomations } from './service.ts';

const at = useAutomations();
const NOON = Date.parse('2026-11-28T12:00:00Z');
const clock = () => new TestClock({ movedBy: 'sleeps', startMs: NOON });
const FIRST = '00000001-0000-4000-8000-000000000000';

describe('automation list and show', () => {
  it('print the next runs of a schedule in its time zone, and none of other automations', async () => {
    at.service.add();
    at.service.add({ name: 'Off', enabled: false });
    at.service.add({
      name: 'Reviews',
      trigger: {
        type: 'event',
        source: 'github',
        on: ['pull_request.opened', 'push'],
        filter: 'x',
      },
    });
    at.service.add({ name: 'Seconds', trigger: { type: 'cron', schedule: '0 3 * * * 5' } });
    const { items } = await at.json<{ items: { name: string }[] }>('list', { clock: clock() });
    expect(items).toMatchObject([
      { name: 'Seconds', next_runs: [] },
      {
        name: 'Reviews',
        trigger: { type: 'event', source: 'github', filter: 'x' },
        when: 'github pull_request.opened, push',
        next_run_at: null,
      },
      { name: 'Off', enabled: false, next_runs: [] },
      {
        name: 'Nightly tests',
        when: '0 3 * * * Europe/Berlin',
        next_run_at: '2026-11-29T02:00:00Z',
        next_runs: ['2026-11-29T02:00:00Z', '2026-11-30T02:00:00Z', '2026-12-01T02:00:00Z'],
        applied: false,
      },
    ]);
  });

  it('find an automation by its id, by the beginning of its id and by its name', async () => {
    at.service.add();
    at.service.add({ name: 'Other' });
    for (const word of [FIRST, FIRST.replaceAll('-', ''), '00000001', 'Nightly tests'])
      expect(await at.json(['show', word])).toMatchObject({ id: FIRST });
    await at.ends('show 0000', { code: 2, err: '2 automations match "0000"' });
    await at.ends('show Nobody', { code: 5, err: 'there is no automation "Nobody"' });
    await at.ends('show 00000009-0000-4000-8000-000000000000', { code: 5, err: 'no automation 0' });
  });

  it('print terminal escapes of a name as text', async () => {
    at.service.add({ name: 'x\u001b[31mred' });
    await at.ends('list', { hides: /\u001b/ });
  });

  at.rows({
    'exit 9 for a record of a wrong shape': {
      acs: 'list',
      server: { 'GET /api/automation/v1': { json: { automations: [{ id: 7 }], total: 1 } } },
      code: 9,
      err: 'unexpected response: automation',
    },
    'exit 12 where the server has no automation service': {
      acs: 'list',
      server: { 'GET /api/automation/v1': { status: 404, json: { detail: 'Not Found' } } },
      code: 12,
      err: 'no automation service answers at /v1',
    },
    'exit 4 for a key that the service refuses': {
      acs: 'list',
      server: { 'GET /api/automation/v1': () => recorded('automation.none-key') },
      code: 4,
    },
  });

  it('read every page with --all-pages', async () => {
    for (let count = 0; count < 101; count++) at.service.add({ name: `a${count}` });
    const { items } = await at.json<{ items: unknown[] }>('list --all-pages');
    expect(items).toHaveLength(101);
  });
});

describe('automation enable, disable and delete', () => {
  it('change what is not so yet', async () => {
    at.service.add();
    const name = 'Nightly tests';
    expect(await at.json(['disable', name])).toMatchObject({ enabled: false, changed: true });
    expect(await at.json(['disable', name])).toMatchObject({ enabled: false, changed: false });
    expect(await at.json(['enable', name])).toMatchObject({ enabled: true, changed: true });
    expect(at.server.writes().map(({ body }) => body)).toEqual([
      { enabled: false },
      { enabled: true },
    ]);
    await at.ends(['enable', name, 'Nobody', '--json'], {
      code: 1,
      out: { matched: 2, failed: 1, items: [{ ok: true }, { error: { code: 'not-found' } }] },
    });
    await at.ends(['disable', name, 'Nobody', '--json', '--dry-run'], {
      code: 1,
      out: { dry_run: true, items: [{ changed: true, before: 'enabled' }, { ok: false }] },
    });
  });

  it('delete after a confirmation, and once more with --ignore-not-found', async () => {
    at.service.add();
    await at.ends(['delete', 'Nightly tests'], { code: 2, err: 'add -y', writes: [] });
    await at.ends(['delete', '', '-y'], { code: 2, err: 'the argument is empty', writes: [] });
    await at.ends(['delete', 'Nightly tests', '-y', '--dry-run'], { out: /^DELETE / });
    expect(at.service.automations).toHaveLength(1);
    await at.ends(['delete', 'Nightly tests', '-y'], {});
    expect(at.service.automations).toEqual([]);
    await at.ends(['delete', 'Nightly tests', '-y'], { code: 5 });
    await at.ends(['delete', 'Nightly tests', '-y', '--ignore-not-found'], {
      err: 'nothing was changed',
    });
  });
});

describe('automation stop', () => {
  it('stops a run, and leaves one that has ended', async () => {
    const id = at.service.addRun({ status: 'RUNNING' });
    expect(await at.json(['stop', id])).toMatchObject({ status: 'cancelled', changed: true });
    expect(await at.json(['stop', id])).toMatchObject({ id, status: 'cancelled', changed: false });
    await at.ends(['stop', FIRST], { code: 5, err: `there is no run ${FIRST}` });
    await at.ends('stop 0000', { code: 2, err: 'is not the full id of a run', requests: 7 });
    await at.ends(['stop', ''], { code: 2, err: 'the argument is empty', requests: 7 });
  });
});

describe('automation runs', () => {
  it('lists status, phase, cost, duration and conversation, newest first', async () => {
    at.service.add();
    at.service.addRun({ automation_id: FIRST });
    at.service.addRun({
      status: 'LATER',
      cost: 0.5,
      conversation_id: ID,
      started_at: '2026-11-27T17:43:51.068158Z',
      completed_at: '2026-11-27T17:47:17.369848Z',
    });
    const { items } = await at.json<{ items: object[] }>(['runs', 'Nightly tests']);
    expect(items).toMatchObject([
      { status: 'unknown(later)', cost_usd: 0.5, duration_seconds: 206 },
      { status: 'pending', duration_seconds: null, conversation_id: null },
    ]);
  });

  it('with --watch print each change as a row, and end with 5 when the automation is deleted', async () => {
    at.service.add();
    const id = at.service.addRun({ automation_id: FIRST });
    const steps = [{}, { status: 'COMPLETED' }];
    at.service.onRuns = () => {
      const step = steps.shift();
      if (step === undefined) at.service.automations.pop();
      Object.assign(at.service.runs[0] ?? {}, step);
    };
    const { out } = await at.ends(['runs', FIRST, '--watch', '--fields', 'id,status'], { code: 5 });
    expect(out).toBe(`${id}\tpending\n${id}\tcompleted\n`);
  });
});

describe('doctor', () => {
  const doctor = async () => {
    const { out } = await at.invoke({ args: ['doctor', '--json'] });
    const { items } = JSON.parse(out) as { items: { id: string }[] };
    return items.find(({ id }) => id === 'automations');
  };

  it('counts automations, and names git sync', async () => {
    at.service.add();
    expect(await doctor()).toMatchObject({ status: 'pass', text: '1 of 1 enabled' });
    at.service.gitSync = { enabled: true, repo_url: 'https://g.example/sync' };
    expect(await doctor()).toMatchObject({
      status: 'pass',
      text: '1 of 1 enabled; git sync with https://g.example/sync',
    });
  });

  it('warns where apply and git sync are both used', async () => {
    at.service.gitSync = { enabled: true, repo_url: 'https://user:hush-hush@g.example/sync' };
    at.service.add({ preset_metadata: { template: { id: 'acs/Nightly tests', version: '1' } } });
    expect(await doctor()).toMatchObject({ status: 'warn' });
    expect(JSON.stringify(await doctor())).not.toContain('hush-hush');
  });

  it('passes at a service without git sync', async () => {
    at.service.gitSync = null;
    expect(await doctor()).toMatchObject({ status: 'pass', text: '0 of 0 enabled' });
  });
});
