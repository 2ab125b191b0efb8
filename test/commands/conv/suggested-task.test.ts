import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startGitServer, type GitServer, type TaskRecord } from '../../servers/support/git-server.ts';
import type { Ended } from '../../support/world.ts';

const TASK: TaskRecord = {
  git_provider: 'github',
  task_type: 'FAILING_CHECKS',
  repo: 'acme/app',
  issue_number: 7,
  title: 'The checks fail',
};

describe.each(['v1', 'v0'] as const)('conv new --suggested-task owner/name#number over %s', (dialect) => {
  let at: GitServer;
  beforeEach(async () => {
    at = await startGitServer(dialect);
    at.data.tasks = [TASK, { ...TASK, repo: 'acme/site', issue_number: 1 }];
  });
  afterEach(() => at.close());
  const planned = (...flags: string[]): Promise<Ended> =>
    at.acs('conv', 'new', '--suggested-task', 'Acme/App#7', '--dry-run', '--json', ...flags);
  const requestOf = ({ out }: Ended): Record<string, unknown> => {
    const { requests } = JSON.parse(out) as { requests: { body: Record<string, unknown> }[] };
    return requests.at(-1)?.body ?? {};
  };

  it('sends the task as the server suggests it', async () => {
    const ended = await planned('--no-repo');
    expect(ended.code, ended.err).toBe(0);
    expect(requestOf(ended)).toMatchObject({ suggested_task: TASK });
  });

  it('exits 3 for a file that does not exist, with both forms of the value as the next step', async () => {
    const { code, err } = await at.acs('conv', 'new', '--suggested-task', 'acme/app', '--dry-run');
    expect(code, err).toBe(3);
    expect(err).toContain('owner/name#<number>');
  });

  it('starts in the repository of the task', async () => {
    const ended = await planned();
    expect(ended.code, ended.err).toBe(0);
    const place = { git_provider: 'github', [dialect === 'v1' ? 'selected_repository' : 'repository']: 'acme/app' };
    expect(requestOf(ended)).toMatchObject(place);
    expect(ended.err).toContain('repository acme/app (of the suggested task');
  });

  it('exits 5 with candidates when the server does not suggest it, and sends nothing', async () => {
    at.data.tasks = [{ ...TASK, issue_number: 8 }];
    const { code, err } = await planned('--no-repo');
    expect(code).toBe(5);
    expect(JSON.parse(err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: {
        message: expect.stringContaining('does not suggest the task Acme/App#7') as string,
        hint: expect.stringContaining('it suggests acme/app#8;') as string,
      },
    });
    at.data.tasks = [];
    expect((await planned('--no-repo')).err).toContain('it suggests none');
    expect(at.writes()).toEqual([]);
  });

  it('exits 2 for the number 0, before anything is sent', async () => {
    const ended = await at.acs('conv', 'new', '--suggested-task', 'acme/app#0', '--base-url', 'http://127.0.0.1:1');
    expect(ended.code).toBe(2);
    expect(ended.err).toContain('numbers of issues begin at 1');
  });

  it('exits 2 when several providers have it; --git-provider chooses', async () => {
    at.data.tasks = [TASK, { ...TASK, git_provider: 'gitlab' }];
    const { code, err } = await planned('--no-repo');
    expect(code).toBe(2);
    expect(err).toContain('choose one with --git-provider github or gitlab');
    const chosen = await planned('--no-repo', '--git-provider', 'gitlab');
    expect(requestOf(chosen)).toMatchObject({ suggested_task: { git_provider: 'gitlab' } });
  });

  it('exits 2 when an issue and a pull request have the same number', async () => {
    at.data.tasks = [TASK, { ...TASK, task_type: 'OPEN_ISSUE' }];
    const { code, err } = await planned('--no-repo');
    expect(code).toBe(2);
    expect(err).toContain('give the task as a file');
  });

  it('exits 4 where the server has no token of a git provider', async () => {
    at.data.tokens = {};
    const { code, err } = await planned('--no-repo');
    expect(code).toBe(4);
    expect(err).toContain('acs git-provider set');
  });
});
