/** Documents of recorded trajectories. */
import { parseTrajectory } from '../../../../src/service/agents/replay/parse.ts';
import type { Trajectory } from '../../../../src/service/agents/replay/steps.ts';

export function parse(document: unknown): Trajectory {
  return parseTrajectory(JSON.stringify(document));
}

export function v0(action: string, args: Record<string, unknown>, source = 'agent') {
  return { id: 1, timestamp: '2026-01-31T10:00:00.000000', source, message: '', action, args };
}

export function v1(action: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return { kind: 'ActionEvent', source: 'agent', thought: [{ type: 'text', text: 'why' }], action, ...more };
}

export const said = (source: string, text: string) => ({
  kind: 'MessageEvent',
  source,
  llm_message: { role: source, content: [{ type: 'text', text }] },
});
