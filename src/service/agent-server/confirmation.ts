import { riskOf, type ToolStep } from './events.ts';
import type { ConfirmationPolicy } from '../storage/conversation-state.ts';

const RISKS = ['LOW', 'MEDIUM', 'HIGH'];

/** Whether a step needs a confirmation. Finishing and thinking have no effect and never need one. */
export function needsConfirmation(policy: ConfirmationPolicy, step: ToolStep): boolean {
  if (step.type !== 'terminal' && step.type !== 'edit') return false;
  if (policy.kind !== 'ConfirmRisky') return policy.kind === 'AlwaysConfirm';
  const risk = riskOf(step);
  if (risk === 'UNKNOWN') return policy.confirm_unknown;
  return RISKS.indexOf(risk) >= RISKS.indexOf(policy.threshold);
}
