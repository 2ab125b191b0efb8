import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchRecord, repositoryRecord, startGitServer, type GitServer } from '../../servers/support/git-server.ts';
import { runWizard, type Asked } from './on-terminal.ts';

const TASK = { git_provider: 'github', task_type: 'OPEN_ISSUE', repo: 'acme/app', issue_number: 7, title: 'It fails' };

describe.each(['v1', 'v0'] as const)('the wizard of conv new at a server with git providers, over %s', (dialect) => {
  let at: GitServer;
  beforeEach(async () => {
    at = await startGitServer(dialect);
    at.data.repositories = ['acme/app', 'acme/site'].map((name) => repositoryRecord(name));
    at.data.branches = { 'acme/app': ['main', 'next'].map(branchRecord) };
  });
  afterEach(() => at.close());
  const ask = (...answers: (string | boolean)[]): Promise<Asked> =>
    runWizard(at, at.home, ['--dry-run', '--json'], answers);
  const startOf = ({ out }: Asked): Record<string, unknown> => {
    const { requests } = JSON.parse(out) as { requests: { body: Record<string, unknown> }[] };
    return requests.at(-1)?.body ?? {};
  };
  const member = (v1: string, v0: string): string => (dialect === 'v1' ? v1 : v0);

  it('searches repositories and branches as they are typed', async () => {
    const asked = await ask('app', 'nex', 'Do it', true);
    expect(asked.code, asked.err).toBe(0);
    expect(asked.questions.slice(0, 2)).toEqual([
      'Repository (type to search) [none | acme/app | acme/site]',
      "Branch (type to search) [main (the repository's default) | next]",
    ]);
    expect(startOf(asked)).toMatchObject({
      [member('selected_repository', 'repository')]: 'acme/app',
      selected_branch: 'next',
      git_provider: 'github',
    });
  });

  it('starts on the default branch, or without a repository', async () => {
    const byDefault = await ask('site', '', 'Do it', true);
    expect(startOf(byDefault)[member('selected_repository', 'repository')]).toBe('acme/site');
    expect(startOf(byDefault)['selected_branch'] ?? null).toBeNull();
    const none = await ask('', 'Do it', true);
    expect(none.questions).toHaveLength(3);
    expect(startOf(none)[member('selected_repository', 'repository')] ?? null).toBeNull();
  });

  it('takes what is typed where the server lists nothing or fails, and also a word of its own choices', async () => {
    const unknown = await ask('acme/other', '', 'Do it', true);
    expect(startOf(unknown)).toMatchObject({ [member('selected_repository', 'repository')]: 'acme/other' });
    at.odd = ({ path }) => (/repositories/.test(path) ? { status: 401, json: 'Invalid github token' } : null);
    const failed = await ask('acme/typed', '', 'Do it', true);
    expect(failed.questions[0]).toBe('Repository (type to search) [none]');
    expect(startOf(failed)).toMatchObject({ [member('selected_repository', 'repository')]: 'acme/typed' });
    const word = await ask('none', '', 'Do it', true);
    expect(word).toMatchObject({ code: 2, err: expect.stringContaining('--repo') as string });
  });

  it('offers the suggested tasks of the repository instead of a message', async () => {
    at.data.tasks = [TASK, { ...TASK, repo: 'acme/site' }];
    const asked = await ask('app', '', '0', true);
    expect(asked.code, asked.err).toBe(0);
    expect(asked.questions[2]).toBe('Task [write a message | acme/app#7 It fails]');
    expect(startOf(asked)).toMatchObject({ suggested_task: TASK });
    const written = await ask('app', '', 'message', 'Do it', true);
    expect(startOf(written)['suggested_task'] ?? null).toBeNull();
  });

  it('asks as before, with a notice, where the providers cannot be read', async () => {
    at.odd = ({ path }) => (/\/settings$/.test(path) ? { status: 500, json: { error: 'broken' } } : null);
    const asked = await ask('none', 'Do it', true);
    expect(asked.questions[0]).toBe('Repository [none | another repository]');
    expect(asked.err).toContain('the server lists no repositories: ');
  });
});
