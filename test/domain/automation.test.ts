import { describe, expect, it } from 'vitest';
import { endOfRun, blankRun, neverMatches } from '../../src/domain/automation.ts';

describe('a filter', () => {
  it.each([
    ['!pull_request.draft', ['!pull_request.draft is never true: write !(pull_request.draft)']],
    ["a == 'x' && ! b[0].c", ['!b[0].c is never true: write !(b[0].c)']],
    ['!@.draft', ['!@.draft is never true: write !(@.draft)']],
    ['action == "opened"', [`"opened" is the name of a member: write 'opened' for a text`]],
    ["startsWith(ref, 'refs/')", ['there is no function startsWith']],
  ])('%s has a part that never matches', (filter, problems) => {
    expect(neverMatches(filter)).toEqual(problems);
  });

  it.each([
    '!(pull_request.draft)',
    '!draft',
    "!contains(labels[].name, 'wip')",
    "a != 'x' && glob(repository.full_name, 'acme/*')",
    `body == '!a.b == "c" f(x)'`,
    'a == `"b"`',
    '"quoted name".x',
  ])('%s may match', (filter) => {
    expect(neverMatches(filter)).toEqual([]);
  });
});

it('a run ends with each status except pending, running and one of a later server', () => {
  const ends = ['pending', 'running', 'completed', 'failed', 'cancelled', 'skipped'] as const;
  expect(ends.map((status) => endOfRun(blankRun('x', status)))).toEqual([
    null,
    null,
    'ok',
    'failed',
    'conflict',
    'conflict',
  ]);
  expect(endOfRun(blankRun('x', 'unknown(later)'))).toBeNull();
});
