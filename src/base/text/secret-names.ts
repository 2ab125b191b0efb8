/** Values are never judged by how random they look: that mangles commit ids and file names. */

export const REDACTED = '<redacted>';

/** `sessionApiKey`, `X-Session-API-Key` and `session_api_key` are one name. */
export function canonicalName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-.\s]+/g, '_')
    .toLowerCase();
}

const KINDS = ['member', 'mcp', 'header', 'query', 'variable', 'argument'] as const;

/** `mcp`: a member that describes a server of the Model Context Protocol. */
export type NameKind = (typeof KINDS)[number];

/**
 * Null: a secret in names of every kind, and in the plural; else in names of these kinds as whole
 * words (`_key`: as the last of several).
 */
export const SECRET_NAMES: Readonly<Record<string, readonly NameKind[] | null>> = {
  api_key: null,
  session_key: null,
  access_key: null,
  access_key_id: null,
  secret_key: null,
  private_key: null,
  secret: null,
  password: null,
  passwd: null,
  passphrase: null,
  authorization: null,
  auth_header: null,
  cookie: null,
  token: null,
  tkn: null,
  device_code: null,
  credential: null,
  key: ['query', 'argument'],
  _key: ['header', 'variable'],
  auth: ['mcp', 'query', 'argument'],
  _auth: ['header', 'variable'],
  pat: ['query', 'argument'],
  _pat: ['variable'],
  bearer: ['argument'],
  creds: ['query', 'argument'],
  sig: ['query'],
  signature: ['query'],
};

/** Cursors of paged lists, prices, counts and keys of caches are data that a script needs. */
const NOT_SECRET = new RegExp(
  `(?:^|_)(?:${[
    '(?:(?:next_|prev_|previous_)?page|continuation|next|sync)_token',
    'cost_per_token',
    '(?:public|cache|idempotency|sort|primary|foreign|partition)_key',
    String.raw`(?:max|min)_(?:\w+_)?tokens`,
    String.raw`(?:has|is|use|no)_\w+`,
  ].join('|')})$`,
);
// prettier-ignore
const SECRET_MAPS = [
  'env', 'environment', 'env_vars', 'secrets', 'custom_secrets', 'provider_tokens', 'credentials',
  'tokens',
];
const SECRET_MAP = new RegExp(`(?:^|_)(?:${SECRET_MAPS.join('|')})$`);

const ENDS = new Map(KINDS.map((kind) => [kind, endsIn(kind)]));

function endsIn(kind: NameKind): RegExp {
  const ends = rowsOf(kind).map(([name, kinds]) => {
    if (kinds !== null) return name.startsWith('_') ? name : `(?:^|_)${name}`;
    return `${name.replaceAll('_', '_?')}s?`;
  });
  return new RegExp(`(?:${ends.join('|')})$`);
}

function rowsOf(kind?: NameKind): [name: string, kinds: readonly NameKind[] | null][] {
  return Object.entries(SECRET_NAMES).filter(
    ([, kinds]) => kind === undefined || (kinds?.includes(kind) ?? true),
  );
}

export function isSecretName(name: string, kind: NameKind): boolean {
  const canonical = canonicalName(name);
  return ENDS.get(kind)?.test(canonical) === true && !NOT_SECRET.test(canonical);
}

export function isSecretMap(name: string, kind: NameKind): boolean {
  const canonical = canonicalName(name);
  return (kind === 'mcp' && canonical === 'headers') || SECRET_MAP.test(canonical);
}

/** Headers there are credentials. */
export function isMcpName(name: string): boolean {
  return /(?:^|_)mcp(?:_config|_servers)?$/.test(canonicalName(name));
}

/** The source of an expression without capturing groups: the last words of secret names. */
export function lastWords(kind?: NameKind): string {
  const words = rowsOf(kind).map(([name]) =>
    name.replace(/^.*_(?!id$)/, '').replace('_', '[_.-]?'),
  );
  return `(?:${[...new Set(words)].join('|')})s?`;
}

export const KEY_VARIABLES = [
  'ACS_API_KEY',
  'OPENHANDS_API_KEY',
  'OPENHANDS_CLOUD_API_KEY',
] as const;

/** A variable that the command text `named` names is kept. */
export function withoutKeys(
  env: NodeJS.ProcessEnv,
  named = '',
): Record<string, string | undefined> {
  const dropped: string[] = KEY_VARIABLES.filter((name) => !named.includes(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.includes(name)));
}
