import type { SandboxRow } from '../store/sandboxes.ts';
import { WORKSPACE_INSIDE, type SandboxSpecName } from '../worker-protocol.ts';

/** A kind of sandbox, in the shape of interface section 6. */
export interface SandboxSpec {
  id: SandboxSpecName;
  command: string[];
  created_at: string;
  initial_env: Record<string, string>;
  working_dir: string;
}

const NAMES: SandboxSpecName[] = ['bubblewrap', 'bubblewrap-offline', 'process'];

/** The specs of this service, the default first. */
export function sandboxSpecs(defaultSpec: SandboxSpecName, createdAt: string): SandboxSpec[] {
  const others = NAMES.filter((name) => name !== defaultSpec);
  return [defaultSpec, ...others].map((name) => ({
    id: name,
    command: ['node', 'dist/worker.js'],
    created_at: createdAt,
    initial_env: {},
    working_dir: name === 'process' ? '.' : WORKSPACE_INSIDE,
  }));
}

export function isSpecName(name: string): name is SandboxSpecName {
  return (NAMES as string[]).includes(name);
}

/**
 * By which spec a sandbox runs. The row keeps the one that was asked for, by which it is started each time; where
 * bubblewrap does not work a start falls back to `process`, which alone leaves the workspace where it is on the host.
 */
export function specInForce({ spec_id, working_dir }: Pick<SandboxRow, 'spec_id' | 'working_dir'>): string {
  return working_dir === null || working_dir === WORKSPACE_INSIDE ? spec_id : 'process';
}
