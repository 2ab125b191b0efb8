import type { SandboxSpecName } from '../worker-protocol.ts';

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
    working_dir: name === 'process' ? '.' : '/workspace/project',
  }));
}

export function isSpecName(name: string): name is SandboxSpecName {
  return (NAMES as string[]).includes(name);
}
