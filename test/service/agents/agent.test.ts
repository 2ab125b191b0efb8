import { expect, it } from 'vitest';
import { AbsentAgent, ReplayAgent } from '../../../src/service/agents/agent.ts';
import { demoSteps } from '../../../src/service/agents/replay/demo.ts';

const after = (done: number) => ({ done, history: () => [] });

it('a replay returns the step after those that are done, and the same one for the same request', async () => {
  const steps = demoSteps();
  const agent = new ReplayAgent(steps);
  expect(await agent.next(after(0))).toEqual({ type: 'step', step: steps[0] });
  expect(await agent.next(after(2))).toEqual({ type: 'step', step: steps[2] });
  expect(await agent.next(after(2))).toEqual({ type: 'step', step: steps[2] });
});

it('a replay at its end and a conversation without a replay are unable to continue, each with its reason', async () => {
  const steps = demoSteps();
  const unable = { type: 'unable', code: 'NoModel' };
  expect(await new ReplayAgent(steps).next(after(steps.length))).toMatchObject({
    ...unable,
    detail: expect.stringMatching(/^The replay is at its end,/) as string,
  });
  expect(await new AbsentAgent().next()).toMatchObject({
    ...unable,
    detail: expect.stringMatching(/^This conversation has no replay,/) as string,
  });
});
