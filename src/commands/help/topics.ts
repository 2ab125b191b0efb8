/** The topics of `acs help`, besides commands. Their texts are loaded on use (texts.ts). */
export const TOPICS = ['exit-codes', 'environment', 'output'] as const;
