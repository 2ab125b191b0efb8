/** Keeps the values of secrets out of what is written down and shown. */

const MASK = '<secret-hidden>';

/** Replaces every secret in a text. A value may contain another one: the longest are looked for first. */
export function maskSecrets(text: string, secrets: Readonly<Record<string, string>>): string {
  const values = Object.values(secrets)
    .filter((value) => value !== '')
    .sort((a, b) => b.length - a.length);
  return values.reduce((masked, value) => masked.replaceAll(value, MASK), text);
}
