import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFake } from '../../support/server.ts';
import { git, makeRepository } from '../conv/support.ts';
import { createWorld, invoke, type World } from '../../support/world.ts';

const ID = '11111111aaaa41118111111111111111';

/** The list of secrets is answered after an hour. */
const SLOW_SECRETS = { rules: [{ path: '/api/**/secrets**', latency: '1h' }] };

let world: World;
/** As in a completion: no server is named, and the local service is the one of this world. */
const here = () => ({
  ACS_BASE_URL: undefined,
  ACS_API_KEY: undefined,
  ACS_DATA_DIR: world.dataDir,
});
const complete = (...words: string[]) =>
  world.invoke({ args: ['__complete', '--', ...words], env: here() });

beforeAll(async () => {
  world = await createWorld({ spec: 'process', faults: SLOW_SECRETS });
  const title = 'First: a $(touch x) title';
  const args = [
    'conv',
    'new',
    '-p',
    'local',
    '--no-repo',
    '--replay',
    'demo',
    '--id',
    ID,
    '--title',
    title,
    '--wait',
  ];
  await world.invoke({ args, env: here() });
});
afterAll(() => world.close());

describe('while the local service is running', () => {
  it('the ids of conversations are offered with status and title, after @last', async () => {
    const { code, out, err } = await complete('conv', 'show', '');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`@last\t${ID}\n${ID}\tfinished · First: a $(touch x) title\n`);
  });

  it('ids are offered for each argument of a verb that takes several, and for one of a verb that takes one', async () => {
    expect((await complete('conv', 'wait', ID, '1')).out).toContain(ID);
    expect((await complete('conv', 'rename', ID, '1')).out).toBe('');
  });

  it('the ids of sandboxes are offered with their status', async () => {
    expect((await complete('sandbox', 'show', '')).out).toMatch(
      /^@last\t\w{32}\n\w{22}\trunning\n$/,
    );
    expect((await complete('conv', 'new', '--sandbox', '')).out).toMatch(/^\w{22}\trunning\n$/);
  });

  it('the paths of the service are offered for api', async () => {
    const path = '/api/v1/app-conversations/{conversation_id}/send-message';
    expect((await complete('api', 'POST', path.slice(0, 40))).out).toContain(`${path}\n`);
  });

  it('the models of its endpoint are offered for --model', async () => {
    const endpoint = await startFake(() => ({ json: { data: [{ id: 'qwen3:8b' }] } }));
    const url = `llm_base_url=${endpoint.url}/v1`;
    await world.acs('settings', 'set', 'llm_model=openai/a', url);
    expect((await complete('conv', 'new', '--model', 'openai/q')).out).toBe('openai/qwen3:8b\n');
    await endpoint.close();
  });

  it('the ids of specs are offered', async () => {
    expect((await complete('sandbox', 'start', '--spec', 'pr')).out).toMatch(/^process$/m);
  });

  it('nothing is offered when the answer takes longer than the limit', async () => {
    expect(await complete('secret', 'delete', '')).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('names of settings are offered with their descriptions', async () => {
    expect((await complete('settings', 'get', 'llm_m')).out).toMatch(/^llm_model\t\S/m);
  });
});

describe('without the local service', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'acs-names-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const env = {
    HOME: dir,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_DATA_DIR: path.join(dir, 'data'),
  };
  const PLACES = [
    'conv show',
    'sandbox show',
    'secret delete',
    'settings profile use',
    'conv new --model',
  ];
  const completeAt = (place: string, ...flags: string[]) =>
    invoke({ args: ['__complete', '--', ...flags, ...place.split(' '), ''], cwd: dir, env });

  it.each(PLACES)('nothing is offered for %s, and nothing is started', async (place) => {
    expect(await completeAt(place)).toMatchObject({ code: 0, out: '', err: '' });
    expect(existsSync(env.ACS_DATA_DIR)).toBe(false);
  });

  it('the branches of the checkout and of its remote are offered for a start alone', async () => {
    const origin = await makeRepository(path.join(dir, 'origin'));
    await git(origin, 'branch', 'release/1.0');
    const cwd = path.join(dir, 'checkout');
    await git(dir, 'clone', '-q', origin, cwd);
    await git(cwd, 'switch', '-q', '-c', 'topic');
    const branches = async (...words: string[]): Promise<string[]> => {
      const args = ['__complete', '--', ...words, '--branch', ''];
      return (await invoke({ args, cwd, env })).out.split('\n').filter(Boolean).sort();
    };
    expect(await branches('conv', 'new')).toEqual(['main', 'release/1.0', 'topic']);
    expect(await branches('conv', 'pull', '@last')).toEqual([]);
    expect(await completeAt('conv chat', '-b')).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('no request is sent to a server that is not the local service', async () => {
    const server = await startFake(() => ({ json: {} }));
    for (const place of PLACES)
      expect((await completeAt(place, '--base-url', server.url)).out).toBe('');
    await server.close();
    expect(server.asked).toEqual([]);
  });

  it('the command that prints the key of a profile is not run', async () => {
    const args = [
      'login',
      'keyed',
      '--base-url',
      'https://acs.example',
      '--no-check',
      '--key-command',
    ];
    await invoke({ args: [...args, `touch ${path.join(dir, 'ran')}`], cwd: dir, env });
    expect(await completeAt('conv show', '-p', 'keyed')).toMatchObject({ code: 0, out: '' });
    expect(existsSync(path.join(dir, 'ran'))).toBe(false);
  });
});
