/** The user's own secrets at a server, which its sandboxes get as environment variables. Servers never return the values. */
export interface Secret {
  name: string;
  description: string | null;
}

/** Servers take no other names: they become names of variables. */
export function isSecretName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
