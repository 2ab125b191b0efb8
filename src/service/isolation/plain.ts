/**
 * The spec `process`: no isolation. Commands run as the user and can read all files of the user. Only the
 * environment is cleaned, so that no key of the service or of a command line is passed on by accident.
 */
import path from 'node:path';

const KEPT = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'TZ', 'USER'];

/** The environment of commands without isolation, out of the one of the service. */
export function plainEnvironment(ambient: NodeJS.ProcessEnv, workspaceDir: string): Record<string, string> {
  const kept = KEPT.flatMap((name) => {
    const value = ambient[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...Object.fromEntries(kept),
    // A workspace without a repository is not part of one further up, e.g. of a home kept in git.
    GIT_CEILING_DIRECTORIES: path.dirname(workspaceDir),
    // git takes it only where no user.email is set.
    EMAIL: 'agent@localhost',
  };
}
