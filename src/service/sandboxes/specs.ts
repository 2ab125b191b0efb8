import type { SandboxRow } from '../storage/sandboxes.ts';
import { WORKSPACE_INSIDE, type SandboxSpecName } from './worker-protocol.ts';

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

/** Which specs this machine can run, decided once when the service starts (isolation/detect.ts). */
export interface SpecChoice {
  /** The spec of a sandbox whose creator names none. */
  readonly byDefault: SandboxSpecName;
  /** The warning for the creator of such a sandbox; null: none. */
  readonly warning: string | null;
  /** Why bubblewrap does not work here; null: it does. */
  readonly whyNoBubblewrap: string | null;
}

/** @param named the default that the service was started with; null: none was named */
export function specChoice(named: SandboxSpecName | null, whyNoBubblewrap: string | null): SpecChoice {
  if (named !== null || whyNoBubblewrap === null) {
    return { byDefault: named ?? 'bubblewrap', warning: null, whyNoBubblewrap };
  }
  const warning = `bubblewrap does not work here (${whyNoBubblewrap}): commands run without isolation`;
  return { byDefault: 'process', warning, whyNoBubblewrap };
}

/** A sandbox cannot have the requested isolation, or the one it had before. Nothing was changed. */
export class SpecRefused extends Error {
  override readonly name = 'SpecRefused';
}

/** Throws SpecRefused for a spec that does not work on this machine. */
export function assertSpecWorks(spec: SandboxSpecName, { whyNoBubblewrap }: SpecChoice): void {
  if (spec === 'process' || whyNoBubblewrap === null) return;
  throw new SpecRefused(
    `the spec ${spec} needs bubblewrap, which does not work here: ${whyNoBubblewrap}. ` +
      'Make it work and restart the service, or use the spec process, which runs commands without isolation',
  );
}

/**
 * Throws SpecRefused when a sandbox cannot be resumed as it ran before. One that an earlier version ran without
 * isolation though it was created with it is resumed so only when the request names the spec `process`.
 */
export function assertResumable(
  { id, spec_id, isolation }: Pick<SandboxRow, 'id' | 'spec_id' | 'isolation'>,
  named: string | null,
  choice: SpecChoice,
): void {
  assertSpecWorks(isolation, choice);
  if (isolation === spec_id || named === isolation) return;
  throw new SpecRefused(
    `sandbox ${id} was created with the spec ${spec_id} and has run without isolation; ` +
      `to resume it without isolation: acs sandbox start ${id} --spec ${isolation}`,
  );
}
