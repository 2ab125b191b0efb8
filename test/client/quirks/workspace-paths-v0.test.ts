import { expect, it } from 'vitest';
import { createRepositoryPaths } from '../../../src/client/v0/quirks/workspace-paths-v0.ts';

it('paths of V0 are shown from the repository on and requested as the server has named them', () => {
  const paths = createRepositoryPaths('owner/hello');
  expect(paths.inRepository('hello/src/main.c')).toBe('src/main.c');
  expect(paths.inRepository('other.txt')).toBe('other.txt');
  expect([paths.served('src/main.c'), paths.served('other.txt')]).toEqual([
    'hello/src/main.c',
    'other.txt',
  ]);
});

it('paths of V0 stay as they are without a repository', () => {
  expect(createRepositoryPaths(null).inRepository('hello/src/main.c')).toBe('hello/src/main.c');
});

it('names that V0 serves as git quotes them are shown and requested without the quotes', () => {
  const paths = createRepositoryPaths('owner/hello');
  for (const served of ['"hello/na\\303\\257ve \\"x\\".txt"', 'hello/"na\\303\\257ve \\"x\\".txt"'])
    expect(paths.inRepository(served)).toBe('naïve "x".txt');
  expect(paths.served('naïve "x".txt')).toBe('hello/naïve "x".txt');
  expect(createRepositoryPaths(null).inRepository('"a\\tb"')).toBe('a\tb');
});
