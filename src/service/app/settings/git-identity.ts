import { plainValue, type StoredSettings } from './record.ts';

/** The environment that makes git inside a sandbox commit under the name of the settings; empty where none is set. */
export function gitIdentity(settings: StoredSettings): Record<string, string> {
  const name = plainValue(settings, 'git_user_name');
  const email = plainValue(settings, 'git_user_email');
  return {
    ...(typeof name === 'string' ? { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name } : {}),
    ...(typeof email === 'string' ? { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email } : {}),
  };
}
