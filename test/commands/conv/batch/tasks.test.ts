import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../support/world.ts';
import { errorOf } from '../../../support/use-world.ts';
import { demo, useBatch } from './batch-world.ts';

const at = useBatch();

it('the tasks of examples/tasks.jsonl are valid', async () => {
  const source = path.join(PACKAGE_ROOT, 'examples', 'tasks.jsonl');
  const { requests } = await at.json<{ requests: unknown[] }>(['batch', source, '--dry-run']);
  expect(requests).toHaveLength(1);
});

it.each(['', '\n \n'])('a file without tasks is exit 2 and named', async (text) => {
  await at.batch([text], { code: 2, err: 'tasks.jsonl has no tasks' });
});

describe('a line of the tasks', () => {
  it.each<[string, string | object, string]>([
    ['is not JSON', '{"key":', 'it is not a JSON object'],
    ['is not an object', [1], 'it is not a JSON object'],
    ['has no key', { message: 'hello' }, '"key" must be a name'],
    ['has an empty key', { key: ' ', message: 'hello' }, '"key" must be a name'],
    ['has no message', { key: 'a' }, '"message", "file" or "replay" is missing'],
    ['has an unknown member', demo('a', { brunch: 'main' }), '"brunch" is not a member of a task'],
    [
      'has a member with underscores',
      demo('a', { git_provider: 'x' }),
      'it is called "git-provider"',
    ],
    ['has a flag of the command', demo('a', { follow: true }), '"follow" is not for a line'],
    [
      'has a wrong value',
      demo('a', { confirm: 'perhaps' }),
      'It must be one of never, risky, always',
    ],
    ['has a number of a wrong type', demo('a', { title: { text: 'x' } }), '"title" must be a text'],
    [
      'has two flags that exclude each other',
      demo('a', { spec: 'x', sandbox: 'y' }),
      '--spec and --sandbox cannot be combined',
    ],
    ['reads stdin', { key: 'a', file: '-' }, '"-" is stdin, which a line cannot read'],
  ])('that %s is exit 2 with its number before anything is sent', async (_, line, message) => {
    await at.batch([demo('first'), line], {
      code: 2,
      err: ['tasks.jsonl, line 2: ', message],
      requests: 0,
    });
  });

  it('with the key of another line is exit 2 with both numbers', async () => {
    const err = 'line 3: the key "same" is that of line 1 too';
    await at.batch([demo('same'), demo('other'), demo('same')], { code: 2, err });
  });

  it('with a secret value is exit 2, and the value is not printed', async () => {
    const tasks = [demo('a', { secret: 'TOKEN=hush-hush' }), demo('b', { 'api-key': 'hush-hush' })];
    await at.batch(tasks, { code: 2, err: '(2 lines are wrong)', hides: 'hush' });
  });

  it('names every wrong line', async () => {
    expect(
      errorOf(await at.batch(['x', demo('good'), '[]'], { code: 2 }, '--json'))['lines'],
    ).toEqual([
      { line: 1, message: 'it is not a JSON object' },
      { line: 3, message: 'it is not a JSON object' },
    ]);
  });

  it('that is blank is passed over', async () => {
    await at.batch(['', demo('one'), '  '], {}, '--dry-run');
  });

  it('takes a list for a repeatable flag and false for one with a --no- form', async () => {
    const task = { key: 'a', message: 'a', replay: 'demo', repo: false, secret: ['ONE', 'TWO'] };
    const secrets = { ONE: expect.anything() as unknown, TWO: expect.anything() as unknown };
    const env = { ONE: 'value-one', TWO: 'value-two' };
    await at.batch([task], { env, out: { requests: [{ body: { secrets } }] } }, '--dry-run --json');
  });
});
