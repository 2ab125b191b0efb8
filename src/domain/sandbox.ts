import type { SandboxStatus } from './conversation.ts';

export interface Sandbox {
  id: string;
  status: SandboxStatus;
  status_detail: string | null;
  spec_id: string | null;
  created_at: string | null;
  last_active_at: string | null;
  conversation_ids: string[];
  repositories: string[];
  urls: { name: string; url: string }[];
}

export interface SandboxSecrets {
  session_api_key: string | null;
}

/** Environment values may hold an operator's secrets and are not part of it. */
export interface Spec {
  id: string;
  default: boolean;
  command: string[] | null;
  working_dir: string | null;
  created_at: string | null;
}
