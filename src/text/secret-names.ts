/**
 * Which names stand for secrets, in JSON members, headers, URL parameters and environment variables. Names only: values
 * are never judged by how random they look, because that mangles commit ids and file names.
 */

/** What stands for a secret, whatever its length was. */
export const REDACTED = '<redacted>';

/** `sessionApiKey`, `X-Session-API-Key` and `session_api_key` are one name. */
export function canonicalName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase();
}

const SECRET_ENDING =
  /(?:^|_)(?:api_?keys?|session_key|access_key|secret_key|private_key|secrets?|password|passwd|passphrase|authorization|cookie|tokens?|tkn|device_code|credentials?|auth_header)$/;

/** Cursors of paged lists end in `token` and are not secrets; a script needs them. */
const NOT_SECRET =
  /(?:^|_)(?:(?:next_|prev_|previous_)?page|continuation|next|sync)_token$|(?:^|_)(?:has|is|use|no)_\w+$/;

export function isSecretName(name: string): boolean {
  const canonical = canonicalName(name);
  return SECRET_ENDING.test(canonical) && !NOT_SECRET.test(canonical);
}

/** Maps whose every value is a secret or may hold one, whatever its name is. */
export function isSecretMap(name: string): boolean {
  return /(?:^|_)(?:env|environment|env_vars|secrets|custom_secrets|provider_tokens|credentials|tokens)$/.test(
    canonicalName(name),
  );
}

/** Members that describe servers of the Model Context Protocol: headers there are credentials. */
export function isMcpName(name: string): boolean {
  return /(?:^|_)mcp(?:_config|_servers)?$/.test(canonicalName(name));
}

/** Names in running text (`token=`, `"api_key":`), as a regular expression's source without groups that capture. */
export const SECRET_NAME_IN_TEXT =
  '[\\w.-]{0,64}?(?:api[_-]?key|session[_-]key|access[_-]?key|secret[_-]?key|private[_-]?key|(?:client[_-])?secret|password|passwd|passphrase|token|tkn|auth[_-]header)';
