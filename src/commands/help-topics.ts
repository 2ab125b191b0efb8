/** The topics of `acs help`, besides commands. Their texts are loaded on use (help/texts.ts). */
export const TOPICS = ['exit-codes', 'environment', 'output'] as const;
