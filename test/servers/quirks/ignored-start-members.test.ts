import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';
import type { LooseOptions } from '../support/loose-server.ts';

const CHOSEN = '0123456789abcdef0123456789abcdef';
const STARTS = 'POST /api/v1/app-conversations';
let trap: LooseTrap;
afterEach(() => trap.close());

const start = (...flags: string[]) => trap.acs('conv', 'new', 'hello', '--no-repo', '--json', ...flags);
const starts = (): number => trap.fake.lines().filter((line) => line === STARTS).length;
const onlyId = (): string => [...trap.conversations.keys()].join();
const V0: LooseOptions = { v0: true };

describe.each([
  ['V1 alone', {}],
  ['V1 and V0', V0],
])('at a server of %s without a readable document', (_, served) => {
  it('conv new --id exits 9 with both ids and the stop command, and starts nothing a second time', async () => {
    trap = await looseTrap({ ...served, ignores: ['id'] });
    const { code, err, out } = await start('--id', CHOSEN);
    expect([code, starts()]).toEqual([9, 1]);
    expect(err).toContain(`ignored --id ${CHOSEN} and started conversation ${onlyId()}`);
    expect(err).toContain(`acs conv stop ${onlyId()}`);
    expect(JSON.parse(out)).toMatchObject({ id: onlyId() });
  });

  it('conv new without --id goes on with the id that the server chose', async () => {
    trap = await looseTrap({ ...served, ignores: ['id'] });
    const { code, err, out } = await start('--wait');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: onlyId(), status: 'finished' });
  });

  it('conv new -q exits 9 when the id that it printed is not the one of the conversation', async () => {
    trap = await looseTrap({ ...served, ignores: ['id'] });
    const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo', '-q');
    expect(code).toBe(9);
    expect(err).toContain(`acs conv stop ${onlyId()}`);
  });

  it('conv new --model exits 9 with both models', async () => {
    trap = await looseTrap({ ...served, ignores: ['model'] });
    const { code, err } = await start('--model', 'openai/other');
    expect([code, starts()]).toEqual([9, 1]);
    expect(err).toMatch(/ignored --model openai\/other and runs the conversation with openai\/gpt-4o/);
    expect(err).toContain(`acs conv stop ${onlyId()}`);
  });

  it('conv new --model reports an unknown model as unknown', async () => {
    trap = await looseTrap({ ...served, omits: ['llm_model'] });
    const { code, err, out } = await start('--model', 'openai/other');
    expect(code, err).toBe(0);
    expect(err).toContain('whether it follows --model openai/other is not known');
    expect(JSON.parse(out)).toMatchObject({ model: null });
    const silent = await start();
    expect([silent.code, silent.err.includes('is not known')], silent.err).toEqual([0, false]);
  });

  it('conv new --title exits 9 with both titles', async () => {
    trap = await looseTrap({ ...served, ignores: ['title'] });
    const { code, err } = await start('--title', 'Chosen');
    expect([code, starts()]).toEqual([9, 1]);
    expect(err).toContain('Chosen');
    expect(err).toContain(`Conversation ${onlyId().slice(0, 5)}`);
  });

  it('conv new exits 9 for a member that the answer does not repeat', async () => {
    trap = await looseTrap({ ...served, understands: ['conversation_id', 'initial_message'] });
    const instructions = path.join(trap.dir, 'kind.md');
    await writeFile(instructions, 'be kind');
    const { code, err } = await start('--instructions', instructions);
    expect([code, starts()]).toEqual([9, 1]);
    expect(err).toContain('ignored --instructions');
  });

  it.each([
    ['--instructions', 'kind.md', 'be kind', { system_message_suffix: 'be brief' }],
    ['--members with trigger', 'members.json', '{"trigger":"slack"}', { trigger: 'gui' }],
  ])(
    'conv new exits 9 with both values when the answer repeats %s with another one',
    async (flag, name, text, other) => {
      trap = await looseTrap({ ...served, repeats: other });
      const file = path.join(trap.dir, name);
      await writeFile(file, text);
      const { code, err } = await start(flag.split(' ')[0] ?? '', file);
      expect([code, starts()]).toEqual([9, 1]);
      expect(err).toContain(`ignored ${flag}`);
      const { error } = JSON.parse(err.trim().split('\n').at(-1) ?? '') as { error: unknown };
      expect(error).toMatchObject({
        requested: text.includes('slack') ? 'slack' : text,
        received: Object.values(other)[0],
        conversation_id: onlyId(),
      });
    },
  );

  it('conv new follows every flag of a server that honours them', async () => {
    trap = await looseTrap(served);
    const { code, err, out } = await start('--id', CHOSEN, '--model', 'openai/other', '--title', 'Chosen');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: CHOSEN, model: 'openai/other', title: 'Chosen' });
  });

  it('conv rename uses the route that takes the title', async () => {
    trap = await looseTrap({ ...served, lacks: served === V0 ? ['PATCH /api/v1/app-conversations/:id'] : [] });
    await start('--id', CHOSEN);
    expect(await trap.acs('conv', 'rename', CHOSEN, 'Chosen')).toMatchObject({ code: 0 });
    expect(trap.conversations.get(CHOSEN)?.title).toBe('Chosen');
  });
});

it('a start whose reads are answered 500 reports that the run may continue, with its id', async () => {
  trap = await looseTrap();
  trap.before = ({ method, path: asked }) =>
    method === 'GET' && /app-conversations(\/start-tasks)?$/.test(asked)
      ? { status: 500, json: { detail: 'Internal Server Error' } }
      : null;
  const { code, err } = await start('--id', CHOSEN);
  expect(code).toBe(9);
  // The check for an earlier conversation of that id comes before the start.
  expect(starts()).toBe(0);
  const { code: later, err: said } = await start();
  expect([later, starts()]).toEqual([9, 1]);
  expect(said).toContain(`the run may continue as ${onlyId()}`);
  expect(said).toContain(`acs conv stop ${onlyId()}`);
  expect(err).not.toContain('may continue');
});
