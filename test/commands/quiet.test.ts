/** -q on a terminal, where the same commands without it print progress, notices and warnings. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => (world = await createWorld({ spec: 'process' })));
afterAll(() => world.close());

const quiet = (...args: string[]) => world.invoke({ args: [...args, '-q'], columns: 100 });
const start = async (...args: string[]): Promise<string> =>
  (await quiet('conv', 'new', '--replay', 'demo', ...args)).out.trim();
const ABSENT = 'f'.repeat(32);

it('-q prints ids on stdout and nothing on stderr, also on a terminal', async () => {
  const { out, err } = await quiet('conv', 'new', '--replay', 'demo', '--wait');
  const id = out.trim();
  expect({ out, err }).toEqual({ out: `${id}\n`, err: '' });
  await start('--wait');

  for (const command of [
    `conv wait ${id}`,
    `conv list --limit 1`,
    `conv list --status stuck`,
    `conv events ${id} --limit 1`,
    `conv stop ${id}`,
    `conv rename ${id} title`,
    `sandbox list --limit 1`,
    `sandbox pause --all --yes`,
    `sandbox pause --all --yes --dry-run`,
    `conv resume ${id}`,
    `conv delete ${id} --yes --with-sandbox`,
    `conv delete ${id} --yes --ignore-not-found`,
  ]) {
    const { code, err: written } = await quiet(...command.split(' '));
    expect({ command, code, written }).toEqual({ command, code: 0, written: '' });
  }
});

it('-q prints each failure of a command for several ids as an error', async () => {
  const id = await start('--wait');
  expect(await quiet('conv', 'delete', id, ABSENT, '--yes', '--with-sandbox')).toMatchObject({
    code: 1,
    out: `${id}\n`,
    err: `error: ${ABSENT}: there is no conversation ${ABSENT} at this server\n`,
  });
  expect(await quiet('conv', 'wait', ABSENT, ABSENT.replace('f', 'e'))).toMatchObject({ code: 5 });
});

it('-q shows what a question is about', async () => {
  const id = await start('--wait');
  const { err, questions } = await world.invoke({
    args: ['conv', 'delete', '--all', '-q'],
    answers: [false],
  });
  expect(err).toContain(id);
  expect(questions).toHaveLength(1);
});
