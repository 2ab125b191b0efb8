import { expect, it } from 'vitest';
import { branchRecord, repositoryRecord, useGitServer } from '../support/git-server.ts';

const at = useGitServer('v1');

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_none, index) => `acme/app-${index}`);
const lines = async (...args: string[]): Promise<string[]> =>
  (await at.acs('repo', ...args, '--all-pages', '-q')).out.split('\n').slice(0, -1);

it('repo list has each repository once, in the order of the server, also those that the server drops', async () => {
  const all = numbered(1_050);
  at.data.repositories = all.map((name) => repositoryRecord(name));
  const listed = await lines('list');
  expect([...listed].sort()).toEqual([...all].sort());
  expect(listed.slice(0, 200)).toEqual(all.slice(0, 200));
});

it('repo branches has each branch once', async () => {
  const all = numbered(320);
  at.data.branches = { 'acme/app': all.map((name) => branchRecord(name)) };
  expect((await lines('branches', 'acme/app')).sort()).toEqual([...all].sort());
});

it('one page takes one request', async () => {
  at.data.repositories = numbered(300).map((name) => repositoryRecord(name));
  await at.acs('repo', 'list', '-L', '98');
  expect(
    at.server.lines().filter((line) => line.endsWith('/git/repositories/search')),
  ).toHaveLength(1);
});
