/** What `acs help` knows besides commands. The texts are loaded on use (help-texts.ts). */
export const TOPICS = ['exit-codes', 'environment', 'output'] as const;
