import { AppError } from '../base/errors.ts';
import type { AppDialect } from './conversation.ts';
import type { JsonValue, McpConfig } from './settings.ts';

export interface NewConversation {
  api: 'auto' | AppDialect;
  message: string | null;
  image_urls: string[];
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
  model: string | null;
  spec_id: string | null;
  sandbox_id: string | null;
  instructions: string | null;
  mcp_config: McpConfig | null;
  replay: string | null;
  conversation_id: string | null;
  secrets: Record<string, string>;
  confirm: 'never' | 'risky' | 'always' | null;
  /** Members of the request for which there is no flag, as they are sent. */
  body: Readonly<Record<string, JsonValue>>;
  given?: Readonly<Record<string, string>>;
  /** Only for servers that run conversations on their own machine. */
  workspace?: Workspace;
  /** What the workspace has in addition to the clone. */
  changes?: CheckoutChanges | null;
  /** False: those of the checkout stay out of the workspace. */
  dependencies?: boolean;
  /** `given`: the title is set after the start, and the server generates none. */
  title?: 'given';
}

/** Where a conversation works on the machine of its server. */
export type Workspace =
  | { kind: 'fresh' }
  | { kind: 'folder'; path: string }
  | { kind: 'clone'; url: string }
  | {
      kind: 'checkout';
      root: string;
      /** What the worktree begins with. */
      commit: string;
      /** The remote, for a server that does not see `root`; null without one. No credentials. */
      url: string | null;
      unpushed: number;
      prove(): Promise<CheckoutProof>;
    };

/** A commit in the object store of the checkout, which no branch has. */
export interface CheckoutChanges {
  /** Its files are those of the checkout, its parent is `head`; `head` itself without changes. */
  commit: string;
  /** Null: the checkout has no commit. */
  head: string | null;
  /** Null: a detached HEAD. */
  branch: string | null;
  /** Commits of remotes on which `commit` stands; a clone may lack their ancestors. */
  roots(): Promise<string[]>;
  /** What a clone lacks of `commit`. The caller removes the file. */
  pack(clone: CloneState): Promise<{ path: string; bytes: number; remove(): void }>;
}

export interface CloneState {
  /** Those of `commit` and its roots that the clone has. */
  has: readonly string[];
  head: string | undefined;
  /** Its commits without parents, where it is shallow. */
  shallow: readonly string[];
}

/** A file in the checkout whose text only a server on this machine can read. */
export interface CheckoutProof {
  /** Null where none could be written: `problem` has the reason. */
  file: string | null;
  text: string;
  problem: string | null;
  remove(): Promise<void>;
}

/** Members of interface 3.1 and 4.1. */
export const FLAG_OF_MEMBER: Readonly<Record<string, string>> = {
  confirmation_policy: '--confirm',
  conversation_id: '--id',
  conversation_instructions: '--instructions',
  git_provider: '--git-provider',
  image_urls: '--image',
  initial_message: 'the message',
  initial_user_msg: 'the message',
  llm_model: '--model',
  mcp_config: '--mcp-config',
  replay_json: '--replay',
  repository: '--repo',
  sandbox_id: '--sandbox',
  sandbox_spec_id: '--spec',
  secrets: '--secret',
  selected_branch: '--branch',
  selected_repository: '--repo',
  system_message_suffix: '--instructions',
  title: '--title',
  workspace: '--workspace',
  workspace_commit: '--with-changes',
  workspace_dependencies: '--no-dependencies',
};

/** The conversation exists and continues, and is not started again. */
export function startDiffers(
  message: string,
  id: string,
  values: { requested: unknown; received: unknown },
): AppError {
  return new AppError('server', message, {
    hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
    data: { conversation_id: id, ...values },
  });
}
