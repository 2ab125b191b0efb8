import { randomBytes, randomInt } from 'node:crypto';
import { tryIsolation } from '../isolation/detect.ts';
import { ServiceError } from '../base/failure.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';
import { type Mount, WORKSPACE_INSIDE, type SandboxSpecName } from '../base/worker-protocol.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const NAMES: SandboxSpecName[] = ['bubblewrap', 'bubblewrap-offline', 'process'];

/** The specs that work, in the shape of interface section 6, the default first. */
export function sandboxSpecs({ byDefault, whyNoBubblewrap }: SpecChoice, createdAt: string) {
  const others = NAMES.filter((name) => name !== byDefault && whyNoBubblewrap === null);
  return [byDefault, ...others].map((name) => ({
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

export interface SpecChoice {
  readonly byDefault: SandboxSpecName;
  readonly warning: string | null;
  readonly whyNoBubblewrap: string | null;
}

/** `process` where bubblewrap is unavailable. Throws ServiceError `isolation`, `unsupported`. */
export async function chooseSpecs({
  spec,
  env,
}: {
  spec?: SandboxSpecName | undefined;
  env: Readonly<Record<string, string | undefined>>;
}): Promise<SpecChoice> {
  const trial = await tryIsolation(env);
  if (trial.state === 'works') return specChoice(spec ?? null, null);
  const { state, why } = trial;
  if (state === 'failed' && spec !== 'process') {
    throw new ServiceError('isolation', `the trial of bubblewrap failed: ${why}`, {
      hint:
        'remove the cause and try again, or run commands without isolation: acs serve ' +
        '--detach --spec process',
    });
  }
  if (spec !== undefined && spec !== 'process') {
    throw new ServiceError('unsupported', `the spec ${spec} is not available: ${why}`, {
      hint: 'install bubblewrap, or run commands without isolation: --spec process',
    });
  }
  return specChoice(spec ?? null, state === 'failed' ? `its trial failed: ${why}` : why);
}

export function specChoice(
  named: SandboxSpecName | null,
  whyNoBubblewrap: string | null,
): SpecChoice {
  if (named !== null || whyNoBubblewrap === null) {
    return { byDefault: named ?? 'bubblewrap', warning: null, whyNoBubblewrap };
  }
  const warning = `commands run without isolation: ${whyNoBubblewrap}`;
  return { byDefault: 'process', warning, whyNoBubblewrap };
}

export function newSessionKey(): string {
  return randomBytes(32).toString('base64url');
}

export function newSandbox(
  spec: SandboxSpecName,
  now: string,
  warning: string | null = null,
  mounts: Mount[] = [],
): SandboxRow {
  return {
    id: Array.from({ length: 22 }, () => BASE62[randomInt(BASE62.length)]).join(''),
    spec_id: spec,
    isolation: spec,
    fell_back: warning !== null,
    mounts,
    status: 'STARTING',
    status_detail: warning,
    session_api_key: newSessionKey(),
    port: null,
    working_dir: null,
    worker_pid: null,
    worker_start: null,
    created_at: now,
    last_active_at: now,
  };
}

/** A sandbox cannot have the requested isolation, or the one it had before. Nothing was changed. */
export class SpecRefused extends Error {
  override readonly name = 'SpecRefused';
  readonly messageId: string | undefined;

  constructor(message: string, messageId?: string) {
    super(message);
    this.messageId = messageId;
  }
}

export function assertSpecWorks(spec: SandboxSpecName, { whyNoBubblewrap }: SpecChoice): void {
  if (spec === 'process' || whyNoBubblewrap === null) return;
  throw new SpecRefused(
    `the spec ${spec} is not available: ${whyNoBubblewrap}. Remove the cause and restart ` +
      'the service, or use the spec process, which runs commands without isolation',
  );
}

// Without isolation an agent with a model, whose commands no user has reviewed, runs only where the
// spec `process` was named.
export function assertModelMayRun(
  {
    named,
    sandbox,
  }: { named: SandboxSpecName | null; sandbox: Pick<SandboxRow, 'id' | 'fell_back'> | null },
  { warning, whyNoBubblewrap }: SpecChoice,
): void {
  const isFallback = sandbox === null ? named === null && warning !== null : sandbox.fell_back;
  if (!isFallback) return;
  const why =
    sandbox === null
      ? `and bubblewrap does not work here: ${whyNoBubblewrap}`
      : `which sandbox ${sandbox.id} does not have`;
  throw new SpecRefused(`an agent with a model needs isolation, ${why}`, 'SANDBOX$NEEDS_ISOLATION');
}

/** A sandbox that ran without its isolation is resumed so only when `named` is `process`. */
export function assertResumable(
  { id, spec_id, isolation }: Pick<SandboxRow, 'id' | 'spec_id' | 'isolation'>,
  named: string | null,
  choice: SpecChoice,
): void {
  assertSpecWorks(isolation, choice);
  if (isolation === spec_id || named === isolation) return;
  throw new SpecRefused(
    `sandbox ${id} was created with the spec ${spec_id} and has run without isolation; to ` +
      `resume it without isolation: acs sandbox start ${id} --spec ${isolation}`,
  );
}
