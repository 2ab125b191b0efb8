import { riskOf, type ToolStep } from './events.ts';
import type { ConfirmationPolicy } from '../storage/conversation-state.ts';

const RISKS = ['LOW', 'MEDIUM', 'HIGH'];

/** Whether the user is asked before a step. Finishing and thinking touch nothing and are never asked for. */
export function needsConfirmation(policy: ConfirmationPolicy, step: ToolStep): boolean {
  if (step.type !== 'terminal' && step.type !== 'edit') return false;
  if (policy.kind !== 'ConfirmRisky') return policy.kind === 'AlwaysConfirm';
  const risk = riskOf(step);
  if (risk === 'UNKNOWN') return policy.confirm_unknown;
  return RISKS.indexOf(risk) >= RISKS.indexOf(policy.threshold);
}
