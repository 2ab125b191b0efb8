import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../support/world.ts';
import { demo, useBatchWorld } from './batch-world.ts';

const at = useBatchWorld();

it('the tasks of examples/tasks.jsonl are valid', async () => {
  const source = path.join(PACKAGE_ROOT, 'examples', 'tasks.jsonl');
  const ended = await at.world.acs('batch', source, '--dry-run', '--json');

  expect(ended.code, ended.err).toBe(0);
  expect((JSON.parse(ended.out) as { requests: unknown[] }).requests).toHaveLength(3);
});

it.each(['', '\n \n'])('a file without tasks is exit 2 and named', async (text) => {
  const ended = await at.batch([text]);

  expect(ended.code).toBe(2);
  expect(ended.err).toContain('tasks.jsonl has no tasks');
});

describe('a line of the tasks', () => {
  it.each<[string, unknown, string]>([
    ['is not JSON', '{"key":', 'it is not JSON'],
    ['is not an object', [1], 'it is not a JSON object'],
    ['has the same member twice', '{"key":"a","message":"{\\"key\\":1}","k\\u0065y":"b"}', 'the member "key" twice'],
    ['has no key', { message: 'hello' }, '"key" is missing'],
    ['has an empty key', { key: ' ', message: 'hello' }, '"key" must be a text that is not empty'],
    ['has no message', { key: 'a' }, '"message", "file", "replay", "suggested-task" or "microagent" is missing'],
    ['has an unknown member', demo('a', { brunch: 'main' }), '"brunch" is not a member of a task'],
    ['has a member with underscores', demo('a', { git_provider: 'x' }), 'it is called "git-provider"'],
    ['has a flag of the command', demo('a', { follow: true }), '"follow" is not for a line'],
    ['has a wrong value', demo('a', { confirm: 'perhaps' }), 'It must be one of never, risky, always'],
    ['has a number of a wrong type', demo('a', { title: { text: 'x' } }), '"title" must be a text'],
    ['has two flags that exclude each other', demo('a', { spec: 'x', sandbox: 'y' }), '--spec and --sandbox exclude'],
    ['reads stdin', { key: 'a', file: '-' }, '"-" is stdin, which a line cannot read'],
  ])('that %s is exit 2 with its number before anything is sent', async (_, line, message) => {
    const ended = await at.batch([demo('first'), line]);

    expect(ended.code).toBe(2);
    expect(ended.err).toContain('tasks.jsonl, line 2: ');
    expect(ended.err).toContain(message);
    expect(at.proxy.requests).toEqual([]);
  });

  it('with the key of another line is exit 2 with both numbers', async () => {
    const ended = await at.batch([demo('same'), demo('other'), demo('same')]);

    expect(ended.code).toBe(2);
    expect(ended.err).toContain('line 3: the key "same" is that of line 1 too');
  });

  it('with a secret value is exit 2, and the value is not printed', async () => {
    const ended = await at.batch([demo('a', { secret: 'TOKEN=hush-hush' }), demo('b', { 'api-key': 'hush-hush' })]);

    expect(ended.code).toBe(2);
    expect(ended.err).not.toContain('hush');
    expect(ended.err).toContain('(2 lines are wrong)');
  });

  it('names every wrong line', async () => {
    const ended = await at.batch(['x', demo('good'), '[]'], ['--json']);

    const last = JSON.parse(ended.err.trim().split('\n').at(-1) ?? '') as { error: { lines: unknown } };
    expect(last.error.lines).toEqual([
      { line: 1, message: 'it is not JSON' },
      { line: 3, message: 'it is not a JSON object' },
    ]);
  });

  it('that is blank is passed over', async () => {
    const ended = await at.batch(['', demo('one'), '  '], ['--dry-run']);

    expect(ended.code, ended.err).toBe(0);
  });

  it('takes a list for a repeatable flag and false for one with a --no- form', async () => {
    const ended = await at.batch(
      [{ key: 'a', message: 'a', replay: 'demo', repo: false, secret: ['ONE', 'TWO'] }],
      ['--dry-run', '--json'],
      { env: { ONE: 'value-one', TWO: 'value-two' } },
    );

    expect(ended.code, ended.err).toBe(0);
    const { requests } = JSON.parse(ended.out) as { requests: { body: { secrets: object } }[] };
    expect(Object.keys(requests[0]?.body.secrets ?? {})).toEqual(['ONE', 'TWO']);
  });
});
