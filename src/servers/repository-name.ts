/** The name of the folder that git clones `owner/name`, a URL or a path into. */
export function repositoryName(repository: string): string {
  const path = repository.replace(/[/\\]+$/, '').replace(/\.git$/, '');
  return path.split(/[/\\:]/).at(-1) ?? '';
}
