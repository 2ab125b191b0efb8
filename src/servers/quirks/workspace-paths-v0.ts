/**
 * Removes the folder of the repository from the paths of changed files.
 *
 * Servers:  openhands-ai 1.6.0 over V0
 * Symptom:  the output of `conv diff` does not apply in a checkout: the server names paths from the workspace on, in
 *           which the repository is one folder.
 * Evidence: test/contract/cases/repositories.ts, "the changes come back as a diff", run on 1.6.0 over V0;
 *           test/servers/quirks/workspace-paths-v0.test.ts
 * Cost:     0 requests
 * Remove:   when servers with V0 are no longer supported
 */

export interface RepositoryPaths {
  /** From the folder of the repository on. */
  inRepository(served: string): string;
  /** As the server has named it. */
  served(inRepository: string): string;
}

/** @param repository `owner/name`; null: the conversation has none, and paths stay as they are */
export function createRepositoryPaths(repository: string | null): RepositoryPaths {
  const folder = repository === null ? null : `${repository.split('/').at(-1)}/`;
  const servedPaths = new Map<string, string>();
  return {
    inRepository(served) {
      if (folder === null || !served.startsWith(folder)) return served;
      const path = served.slice(folder.length);
      servedPaths.set(path, served);
      return path;
    },
    served: (path) => servedPaths.get(path) ?? path,
  };
}
