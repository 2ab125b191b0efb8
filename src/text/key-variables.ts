/** The variables that give the key of a server. */
export const KEY_VARIABLES = ['ACS_API_KEY', 'OPENHANDS_API_KEY', 'OPENHANDS_CLOUD_API_KEY'] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a program that acs starts: without the keys of servers, which it needs not.
 * @param named text of a command; a variable that it names is kept
 */
export function withoutKeys(env: Environment, named = ''): Record<string, string | undefined> {
  const dropped = KEY_VARIABLES.filter((name) => !named.includes(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !(dropped as string[]).includes(name)));
}
