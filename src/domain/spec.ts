/** A sandbox specification. Its environment values may hold an operator's secrets and are not part of it. */
export interface Spec {
  id: string;
  /** Whether the server takes this one when none is named. */
  default: boolean;
  command: string[] | null;
  working_dir: string | null;
  created_at: string | null;
}
