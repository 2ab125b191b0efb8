/** The files that a conversation starts with, put into the workspace of its sandbox from outside. */
import { cloneRepository, initWorkspace, type Cloned } from './clone.ts';
import { repositorySource } from './repository.ts';
import type { StartRequest } from '../starts/start-plan.ts';
import type { Supervisor } from '../../sandboxes/supervisor.ts';
import type { Provider } from '../../../protocol/v1/requests.ts';

export interface CheckoutSources {
  supervisor: Pick<Supervisor, 'workspaceOf'>;
  env: Readonly<Record<string, string | undefined>>;
  stagingDir: string;
  /** Token and host of a git provider. */
  providerAccess(provider: Provider): { token: string | null; host: string | null };
}

interface CheckoutOptions extends CheckoutSources {
  sandboxId: string;
  /** The sandbox was made for this conversation: without a repository it gets an empty one. */
  isFresh: boolean;
  signal: AbortSignal;
}

/** Null: the conversation starts without a repository of its own. */
export async function checkOut(request: StartRequest, options: CheckoutOptions): Promise<Cloned | null> {
  const { supervisor, env, stagingDir, providerAccess, sandboxId, isFresh, signal } = options;
  const workspaceDir = supervisor.workspaceOf(sandboxId);
  if (request.cloneFrom === null) {
    if (isFresh) await initWorkspace(workspaceDir, env, signal);
    return null;
  }
  const access = request.provider === null ? null : providerAccess(request.provider);
  const source = repositorySource(request.cloneFrom, request.provider, access?.host ?? null);
  const token = access?.token ?? null;
  return cloneRepository({ source, branch: request.branch, workspaceDir, stagingDir, env, token, signal });
}
