import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { finish, ID, status, userMessage } from '../../client/support/v1-server.ts';
import { idleClock } from '../../support/test-clock.ts';
import { errorOf } from '../../support/use-world.ts';
import { useAutomations } from './service.ts';

const at = useAutomations({ clock: () => idleClock(30) });
const FIRST = '00000001-0000-4000-8000-000000000000';

describe('automation run', () => {
  it('requests a run, and exits 6 for a disabled automation', async () => {
    at.service.add();
    expect(await at.json(['run', 'Nightly tests'])).toMatchObject({
      status: 'pending',
      changed: true,
    });
    await at.ends(['disable', 'Nightly tests'], {});
    await at.ends(['run', 'Nightly tests'], { code: 6, err: 'Automation is disabled' });
  });

  it('exits 11 and is not repeated when the answer is lost', async () => {
    at.service.add();
    at.script({ [`POST /api/automation/v1/${FIRST}/dispatch`]: { cut: true } });
    await at.ends(['run', 'Nightly tests'], {
      code: 11,
      writes: [`POST /api/automation/v1/${FIRST}/dispatch`],
    });
  });

  const states = (...steps: Record<string, unknown>[]) => {
    at.service.onRuns = () => void Object.assign(at.service.runs.at(-1) ?? {}, steps.shift());
  };

  it.each([
    ['COMPLETED', 0, null],
    ['FAILED', 1, 'RuntimeError: stuck'],
    ['CANCELLED', 6, 'Cancelled by user'],
    ['SKIPPED', 6, 'Automation disabled by user'],
  ])('--wait exits with the outcome of a run that is %s (scripted)', async (word, code, error) => {
    at.service.add();
    const running = { status: 'RUNNING', current_phase: 'Installing dependencies' };
    states({}, running, { status: word, error_detail: error, cost: 0.25 });
    const ended = await at.ends(['run', 'Nightly tests', '--wait', '--json'], {
      code,
      out: { status: word.toLowerCase(), error, cost_usd: 0.25 },
      err: [': pending', ': running · Installing dependencies'],
    });
    expect(JSON.parse(ended.out)).toMatchObject({ changed: true });
  });

  it('--wait exits 124 at its deadline, with the phase and the next steps', async () => {
    at.service.add();
    states({ status: 'RUNNING', current_phase: 'Cloning repositories' });
    const line = ['run', 'Nightly tests', '--wait', '--wait-timeout', '1m', '--json'];
    const ended = await at.ends(line, { code: 124, out: '' });
    const { message, hint } = errorOf(ended);
    expect(message).toContain('is still running (Cloning repositories) after 1m; it continues');
    expect(hint).toContain('stop it: acs automation stop ');
  });

  it('--wait that is interrupted says that the run continues', async () => {
    at.service.add();
    const interruption = new AbortController();
    at.service.onRuns = () =>
      interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    const line = ['run', 'Nightly tests', '--wait'];
    await at.ends(line, {
      code: 130,
      signal: interruption.signal,
      err: [
        /interrupted by SIGINT; run [\w-]+ \(pending\) continues/,
        'stop it: acs automation stop',
      ],
    });
  });

  it('--follow prints the events of the conversation once the run names it (scripted)', async () => {
    at.service.add();
    at.service.v1.addConversation({ execution_status: 'finished' });
    at.service.v1.agentState['execution_status'] = 'finished';
    const events = [userMessage('run the tests'), status('running'), finish('Done.')];
    at.service.v1.agentEvents = at.service.v1.appEvents = [...events, status('finished')];
    states({ status: 'RUNNING' }, { status: 'COMPLETED', conversation_id: ID });
    await at.ends(['run', 'Nightly tests', '--follow'], { out: /run the tests[^]*✓ completed\n$/ });
  });

  it('--follow of a run that fails before its conversation exits 1 with the error', async () => {
    at.service.add();
    states({ status: 'FAILED', error_detail: 'no such tarball' });
    const line = ['run', 'Nightly tests', '--follow'];
    await at.ends(line, { code: 1, out: '✗ failed: no such tarball\n' });
  });

  it('refuses a deadline without a wait', async () => {
    await at.ends('run x --wait-timeout 1m', { code: 2, err: 'needs --wait', requests: 0 });
  });
});
