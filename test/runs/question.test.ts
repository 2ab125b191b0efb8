import { describe, expect, it } from 'vitest';
import { OpenQuestion } from '../../src/runs/question.ts';
import type { Answerer, TrackedRun } from '../../src/runs/tracker-options.ts';
import { ManualClock } from '../support/manual-clock.ts';

const unanswered = (status: string) => ({ outcome: { status } }) as unknown as TrackedRun;

class ScriptedAnswerer implements Answerer {
  readonly calls: string[] = [];
  settle: (how: 'answered' | 'left') => void = () => undefined;
  onWaiting(): Promise<'answered' | 'left'> {
    this.calls.push('onWaiting');
    return new Promise((resolve) => (this.settle = resolve));
  }
  onHappened(): Promise<void> {
    this.calls.push('onHappened');
    return new Promise(() => undefined);
  }
  close(): void {
    this.calls.push('close');
  }
}

describe('an open question', () => {
  it('is asked once while the run waits', async () => {
    const answerer = new ScriptedAnswerer();
    const question = new OpenQuestion(answerer);
    expect([question.isOpen, question.answers]).toEqual([false, []]);
    question.open(unanswered('waiting'));
    question.open(unanswered('waiting for longer'));
    expect([question.isOpen, question.answers.length, answerer.calls]).toEqual([true, 1, ['onWaiting']]);
    const [answer] = question.answers;
    answerer.settle('left');
    expect(await answer).toEqual({ left: unanswered('waiting for longer') });
    expect([question.isOpen, question.answers]).toEqual([false, []]);
  });

  it('that was answered has no outcome, and another may be asked', async () => {
    const answerer = new ScriptedAnswerer();
    const question = new OpenQuestion(answerer);
    question.open(unanswered('waiting'));
    const [answer] = question.answers;
    answerer.settle('answered');
    expect(await answer).toEqual({ left: null });
    question.open(unanswered('waiting'));
    expect(answerer.calls).toEqual(['onWaiting', 'onWaiting']);
  });

  it('is checked for an answer of another client within a limit, and only while it is open', async () => {
    const [answerer, clock] = [new ScriptedAnswerer(), new ManualClock()];
    const question = new OpenQuestion(answerer);
    await question.closeIfAnswered({ clock }, 1_000);
    expect(answerer.calls).toEqual([]);
    question.open(unanswered('waiting'));
    const check = question.closeIfAnswered({ clock }, 1_000);
    await clock.pass(1_000);
    await check;
    question.close();
    expect(answerer.calls).toEqual(['onWaiting', 'onHappened', 'close']);
  });

  it('whose prompt fails rejects through its answers', async () => {
    const answerer = new ScriptedAnswerer();
    answerer.onWaiting = () => Promise.reject(new Error('no terminal'));
    const question = new OpenQuestion(answerer);
    question.open(unanswered('waiting'));
    await expect(question.answers[0]).rejects.toThrow('no terminal');
  });
});
