/** Which server and which key: contract section 4. */
export interface ResolvedTarget {
  base_url: string;
  /** `flag`, `profile:<name>`, `env:ACS_BASE_URL`, `default`, `built-in`. */
  base_url_source: string;
  /** Name of the profile in force; null for a bare URL. */
  profile: string | null;
  key: string | null;
  /** `file`, `stdin`, `profile:<name>`, `command`, `env:<NAME>`, `local`, null without a key. */
  key_source: string | null;
  /** True for the built-in profile of the local service. */
  local: boolean;
  /** Defaults the profile carries. */
  defaults: Record<string, string>;
  /** Notices for stderr, e.g. that ACS_API_KEY is set and not used. */
  notices: string[];
}
