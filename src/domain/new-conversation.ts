import { AppError } from '../base/errors.ts';
import type { Dialect } from './conversation.ts';
import type { JsonValue, McpConfig } from './settings.ts';

export interface NewConversation {
  api: 'auto' | Dialect;
  message: string | null;
  image_urls: string[];
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
  model: string | null;
  /** V1 only. */
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
