import type { Dialect } from './conversation.ts';
import type { SuggestedTask } from './git-provider.ts';
import type { McpConfig } from './settings.ts';
import type { StartMembers } from './start-members.ts';

/** What `conv new` requests; each adapter sends what its dialect has and refuses (`unsupported`) what it lacks. */
export interface NewConversation {
  /** Which dialect to start it in; `auto` takes the newest that has every requested member. */
  api: 'auto' | Dialect;
  message: string | null;
  image_urls: string[];
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
  model: string | null;
  /** Used for a sandbox that is created first; V1 only. */
  spec_id: string | null;
  sandbox_id: string | null;
  instructions: string | null;
  mcp_config: McpConfig | null;
  /** Text of a trajectory to replay. */
  replay: string | null;
  suggested_task: SuggestedTask | null;
  microagent: CreateMicroagent | null;
  /** Caller's id, 32 hex; null: acs makes one where the server honours it. */
  conversation_id: string | null;
  secrets: Record<string, string>;
  confirm: 'never' | 'risky' | 'always' | null;
  /** Further members of a V1 start, as they are sent; V1 only. */
  members: StartMembers;
  /** The flags that gave these, with their values: for errors of the server about them. */
  given?: Partial<Record<'replay' | 'branch' | 'mcp_config' | 'suggested_task' | 'microagent' | 'members', string>>;
}

/** Interface 3.1: only `repo` is required. */
export interface CreateMicroagent {
  repo: string;
  git_provider?: string | null;
  title?: string | null;
}
