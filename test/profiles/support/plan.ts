import { isAppError } from '../../../src/errors.ts';
import { planTarget, type TargetQuery } from '../../../src/profiles/resolve.ts';
import type { Profile } from '../../../src/profiles/store.ts';

const WORK: Profile = {
  name: 'work',
  base_url: 'https://work.example',
  key: 'work-key',
  created_at: '2026-01-01T00:00:00Z',
};
const BARE: Profile = { name: 'bare', base_url: 'https://bare.example/acs', created_at: '2026-01-01T00:00:00Z' };
const VAULT: Profile = {
  name: 'vault',
  base_url: 'https://vault.example',
  key_command: 'pass show acs',
  created_at: '2026-01-01T00:00:00Z',
};
/** The profiles of a query that names no others. */
export const STORED = [WORK, BARE, VAULT];

export type Given = Partial<TargetQuery> & { defaultName?: string; stored?: Profile[] };

export function query({ env = {}, offTerminal = true, profile, baseUrl, apiKeyFile }: Given): TargetQuery {
  return { env, offTerminal, profile, baseUrl, apiKeyFile };
}

export function plan(given: Given) {
  const { stored = STORED, defaultName = null } = given;
  return planTarget(query(given), () => Promise.resolve({ profiles: stored, defaultName }));
}

/** The error of a query that has to be refused. */
export async function failure(given: Given) {
  try {
    await plan(given);
  } catch (error) {
    if (isAppError(error))
      return { kind: error.kind, code: error.exitCode, message: error.message, hint: error.details.hint ?? '' };
    throw error;
  }
  throw new Error('it was accepted');
}
