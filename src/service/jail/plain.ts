/**
 * The spec `process`: no isolation at all. What runs there is the user: it can read what the user can read. Only the
 * environment is cleaned, so that no key of the service or of a command line is handed on by accident.
 */

const KEPT = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'TZ', 'USER'];

/** The environment of commands without isolation, out of the one of the service. */
export function plainEnvironment(ambient: NodeJS.ProcessEnv): Record<string, string> {
  const kept = KEPT.flatMap((name) => {
    const value = ambient[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...Object.fromEntries(kept),
    // git takes it only where no user.email is set.
    EMAIL: 'agent@localhost',
  };
}
