/**
 * Removes the folder of the repository from the paths of changed files, and the quotes of git.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  the output of `conv diff` does not apply in a checkout: the server names paths from the
 *           workspace on, in which the repository is one folder. A name with quotes or with bytes
 *           outside ASCII is served as git quotes it; a request with that name is answered with
 *           500.
 * Evidence: test/contract/cases/repositories.ts, "the changes come back as a diff" and
 *           "git applies the patch to the base commit, and it has each kind", run on 1.6.0 over V0;
 *           test/client/quirks/workspace-paths-v0.test.ts
 * Cost:     0 requests
 * Remove:   when servers with V0 are no longer supported
 */
import { unquotePath } from '../../../domain/patch.ts';

export function createRepositoryPaths(repository: string | null) {
  const folder = repository === null ? null : `${repository.split('/').at(-1)}/`;
  const servedPaths = new Map<string, string>();
  return {
    inRepository(served: string): string {
      const name = unquotePath(served);
      if (folder === null || !name.startsWith(folder)) return name;
      const path = unquotePath(name.slice(folder.length));
      servedPaths.set(path, folder + path);
      return path;
    },
    served: (path: string) => servedPaths.get(path) ?? path,
  };
}
