import { describe, expect, it } from 'vitest';
import { useLoose } from '../../support/use-scripted.ts';
import type { LooseOptions } from '../support/loose-server.ts';

const CHOSEN = '0123456789abcdef0123456789abcdef';
const at = useLoose();

const onlyId = (): string => [...at.loose.conversations.keys()].join();
/** Runs `conv new` with flags; a `@` is the name of a file with the text. */
async function start(options: LooseOptions, flags: string, text = '') {
  at.serve(options);
  const words = flags.replace('@', await at.file('file', text));
  const ended = await at.acs(...`conv new hello --no-repo ${words}`.split(' '));
  const starts = at.server
    .lines()
    .filter((line) => line === 'POST /api/v1/app-conversations').length;
  return { ...ended, starts };
}

describe('conv new at a server without a readable document', () => {
  it.each<[LooseOptions, string, string, string?]>([
    [
      { ignores: ['id'] },
      `--id ${CHOSEN} --json`,
      `ignored --id ${CHOSEN} and started conversation ID`,
    ],
    [
      { ignores: ['id'], v0: true },
      `--id ${CHOSEN} --json`,
      `ignored --id ${CHOSEN} and started conversation ID`,
    ],
    [{ ignores: ['id'] }, '-q', 'acs conv stop ID'],
    [
      { ignores: ['model'] },
      '--model openai/other',
      'ignored --model openai/other and runs the conversation with openai/gpt-4o',
    ],
    [{ ignores: ['title'] }, '--title Chosen', '"Chosen"'],
    [
      { understands: ['conversation_id', 'initial_message'] },
      '--instructions @ --json',
      'ignored --instructions',
      'be kind',
    ],
    [
      { repeats: { system_message_suffix: 'be brief' } },
      '--instructions @ --json',
      '"requested":"be kind","received":"be brief"',
      'be kind',
    ],
    [
      { repeats: { trigger: 'gui' } },
      '--body @ --json',
      'ignored --body with trigger',
      '{"trigger":"slack"}',
    ],
  ])(
    'of %j exits 9 for %s with both values, and names the command that stops the run',
    async (options, flags, message, text) => {
      const { code, err, starts } = await start(options, flags, text);
      expect([code, starts], err).toEqual([9, 1]);
      expect(err).toContain(message.replace('ID', onlyId()));
      expect(err).toContain(`acs conv stop ${onlyId()}`);
    },
  );

  it('goes on with the id that the server chose where none was given', async () => {
    const { code, err, out } = await start({ ignores: ['id'] }, '--wait --json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: onlyId(), status: 'finished' });
  });

  it('reports with --model that the model of the conversation is not known', async () => {
    const { code, err, out } = await start({ omits: ['llm_model'] }, '--model openai/other --json');
    expect(code, err).toBe(0);
    expect(err).toContain('whether it follows --model openai/other is not known');
    expect(JSON.parse(out)).toMatchObject({ model: null });
    const silent = await at.acs('conv', 'new', 'hello', '--no-repo', '--json');
    expect([silent.code, silent.err.includes('is not known')], silent.err).toEqual([0, false]);
  });

  it('follows every flag that the server honours, and conv rename takes the route that the server has', async () => {
    const flags = `--id ${CHOSEN} --model openai/other --title Chosen --json`;
    const { code, err, out } = await start(
      { v0: true, lacks: ['PATCH /api/v1/app-conversations/:id'] },
      flags,
    );
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: CHOSEN, model: 'openai/other', title: 'Chosen' });
  });

  it('reports that the run may continue when the reads after the start are answered 500', async () => {
    at.loose.before = ({ method, path: asked }) =>
      method === 'GET' && /app-conversations(\/start-tasks)?$/.test(asked)
        ? { status: 500, json: { detail: 'Internal Server Error' } }
        : null;
    const { code, err } = await at.acs('conv', 'new', 'hello', '--no-repo');
    expect(code, err).toBe(9);
    expect(err).toContain(`the run may continue as ${onlyId()}`);
    expect(err).toContain(`acs conv stop ${onlyId()}`);
    // With --id, the check for an earlier conversation of that id comes before the start.
    const chosen = await at.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
    expect([chosen.code, at.loose.conversations.size, chosen.err.includes('may continue')]).toEqual(
      [9, 1, false],
    );
  });
});
