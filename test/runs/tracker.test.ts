import { describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS } from '../../src/domain/conversation.ts';
import { AppError } from '../../src/errors.ts';
import { event, message, Stage, statusEvent } from './support/stage.ts';

describe('watching a run', () => {
  it('ends with the status that the server reports', async () => {
    const stage = new Stage();
    const watched = stage.watch();
    await stage.deliver(
      message(),
      statusEvent('running'),
      stage.state('running'),
      statusEvent('other'),
      stage.state('finished'),
    );
    expect((await watched).outcome).toMatchObject({ status: 'finished', exit_code: 0 });
  });

  it('ignores a status older than the message, and detects a run that ends with the status before it', async () => {
    const stage = new Stage();
    const watched = stage.watch();
    await stage.deliver(statusEvent('other'), message(), stage.state('finished'));
    await stage.clock.pass(1_000);
    // The record never changes in between: the server reports no new status.
    await stage.deliver(statusEvent('running'));
    await stage.clock.pass(1_000);
    await stage.deliver(statusEvent('other'));
    await stage.clock.pass(1_000);
    expect((await watched).outcome).toMatchObject({ status: 'finished', exit_code: 0 });
  });

  it('accepts that status once it is stable and no event contradicts it', async () => {
    const stage = new Stage();
    const watched = stage.watch();
    await stage.deliver(message(), stage.state('failed'));
    await stage.clock.pass(10_000);
    expect((await watched).outcome).toMatchObject({ status: 'failed', exit_code: 1 });
  });

  it('reads the record once more at its deadline', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000 });
    await stage.deliver(message(), statusEvent('running'), stage.state('running'));
    // The machine was suspended: the run ended meanwhile, and no event reported it.
    stage.record = { ...stage.record, status: 'finished' };
    await stage.clock.pass(60_000);
    expect(await watched).toMatchObject({ outcome: { exit_code: 0 }, failure: null });
  });

  it('shows the events from before its deadline when the machine was suspended over it', async () => {
    const stage = new Stage();
    const shown: string[] = [];
    const onEvent = (one: { text: string }) => Promise.resolve(void shown.push(one.text));
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000, onEvent });
    await stage.deliver(message(), statusEvent('running'), stage.state('running'));
    stage.record = { ...stage.record, status: 'finished' };
    await stage.clock.pass(60_000);
    await stage.deliver(event('activity'), statusEvent('other'));
    await stage.clock.pass(1_000);
    expect(await watched).toMatchObject({ outcome: { exit_code: 0, last_event_id: stage.lastEventId }, failure: null });
    expect(shown).toContain('the event activity');
  });

  it('limits the wait for events of a run that ended while the machine was suspended', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000, onEvent: () => Promise.resolve() });
    await stage.deliver(message(), statusEvent('running'), stage.state('running'));
    stage.record = { ...stage.record, status: 'finished' };
    await stage.clock.pass(63_000);
    expect(await watched).toMatchObject({ outcome: { exit_code: 0 }, failure: null });
  });

  it('shows the events after a confirmation although the run ended before the follower delivered them', async () => {
    const stage = new Stage();
    const shown: string[] = [];
    const onEvent = (one: { text: string }) => Promise.resolve(void shown.push(one.text));
    const answer = {
      onWaiting: () => Promise.resolve('answered' as const),
      onHappened: () => Promise.resolve(),
      close: () => {},
    };
    const watched = stage.watch({ onEvent, answer });
    await stage.deliver(message(), statusEvent('running'), statusEvent('other'), stage.state('waiting'));
    stage.record = { ...stage.record, status: 'finished' };
    await stage.clock.pass(1_000);
    await stage.deliver(event('activity'), statusEvent('other'), stage.state('finished'));
    expect(await watched).toMatchObject({ outcome: { exit_code: 0, last_event_id: stage.lastEventId }, failure: null });
    expect(shown).toContain('the event activity');
  });

  it('ends at its deadline and names the last status', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000 });
    await stage.deliver(stage.state('running'));
    await stage.clock.pass(60_000);
    const { outcome, failure } = await watched;
    expect(outcome).toMatchObject({ status: 'running', exit_code: 124, reason: { code: 'timeout' } });
    expect(failure?.message).toContain('still running after 1m');
  });

  it('names the last status at its deadline although a busy sandbox reports none at that time', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000 });
    await stage.deliver(stage.state('running'));
    stage.state(NO_STATUS);
    await stage.clock.pass(60_000);
    expect((await watched).outcome).toMatchObject({ status: 'running', exit_code: 124 });
  });

  it('prints the last event after ten minutes without one', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 1_500_000, waitMs: 1_500_000 });
    await stage.deliver(stage.state('running'), event('activity'));
    await stage.clock.pass(599_000);
    expect(stage.notices).toEqual([]);
    await stage.clock.pass(2_000);
    expect(stage.notices).toEqual(['no event of c for 10m; the last was: the event activity']);
    await stage.clock.pass(1_500_000);
    expect((await watched).failure?.kind).toBe('timeout');
  });

  it('prints after ten minutes that there is no status', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 700_000, waitMs: 700_000 });
    await stage.deliver(stage.state('unknown(no-status)'));
    await stage.clock.pass(601_000);
    expect(stage.notices).toEqual(['no event of c for 10m, and its status is unknown(no-status)']);
    await stage.clock.pass(100_000);
    expect((await watched).failure?.kind).toBe('timeout');
  });

  it('ends after the limit for the time without an event', async () => {
    const stage = new Stage();
    const watched = stage.watch({ failOnStallMs: 30_000 });
    await stage.deliver(stage.state('running'));
    await stage.clock.pass(20_000);
    await stage.deliver(event('activity'));
    await stage.clock.pass(29_000);
    await stage.clock.pass(2_000);
    expect((await watched).outcome).toMatchObject({ exit_code: 124, reason: { code: 'no-events' } });
  });

  it('ends with the status of the record when the server has no more events', async () => {
    const stage = new Stage();
    const watched = stage.watch();
    await stage.deliver(stage.state('running'), stage.state('archived'));
    await stage.over();
    expect((await watched).outcome).toMatchObject({ status: 'archived', exit_code: 6 });
  });

  it('names the status known before it when it ends without another', async () => {
    const stage = new Stage();
    const watched = stage.watch({ seen: { ...blankConversation('c', 'running') } });
    stage.interruption.abort(new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }));
    const { outcome, failure } = await watched;
    expect(outcome.status).toBe('running');
    expect(failure?.message).toBe('interrupted by SIGINT; conversation c (running) continues');
  });

  it('does not print that a run continues when it is paused', async () => {
    const stage = new Stage();
    const watched = stage.watch({ deadlineMs: 60_000, waitMs: 60_000, judge: () => null });
    await stage.deliver(stage.state('paused'));
    await stage.clock.pass(60_000);
    expect((await watched).failure?.message).toBe(
      'conversation c is still paused after 1m; it does not change by itself',
    );
  });

  it('ends on a signal with its exit code, and prints that the run continues', async () => {
    const stage = new Stage();
    const watched = stage.watch();
    await stage.deliver(stage.state('running'));
    stage.interruption.abort(new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }));
    const { outcome, failure } = await watched;
    expect(outcome).toMatchObject({ status: 'running', exit_code: 130 });
    expect(failure?.message).toBe('interrupted by SIGINT; conversation c (running) continues');
    expect(failure?.details.hint).toContain('acs conv stop c');
  });
});
