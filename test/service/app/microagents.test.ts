import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GIT_TOKEN, startGitHost, type GitHost } from '../../genuine/git-host.ts';
import { createTestApp, type TestApp } from './support.ts';

let app: TestApp;
let host: GitHost;
beforeEach(async () => {
  app = await createTestApp();
  host = await startGitHost(path.join(app.dir, 'git-host'));
});
afterEach(async () => {
  await host.close();
  await app.close();
});

const KNOWLEDGE =
  '---\nname: release\ntriggers:\n  # words of a user\n  - release\n  - "new version"\nagent: any\n---\n\nTag it.\n';

/** Pushes files to the default branch of demo/hello. */
function pushFiles(files: Record<string, string>): void {
  const work = path.join(app.dir, 'work');
  const identity = ['-c', 'user.name=Demo', '-c', 'user.email=demo@example.com'];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const git = (...args: string[]): void => {
    execFileSync('git', [...identity, '-C', work, ...args], { env, stdio: 'pipe' });
  };
  mkdirSync(work);
  git('clone', '-q', path.join(app.dir, 'git-host', 'demo', 'hello.git'), '.');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
    writeFileSync(path.join(work, name), text);
  }
  git('add', '.');
  git('commit', '-qm', 'microagents');
  git('push', '-q', 'origin', 'HEAD:main');
}

const connect = () =>
  app.call('POST', '/api/add-git-providers', { provider_tokens: { forgejo: { token: GIT_TOKEN, host: host.url } } });
const list = (repository = 'demo/hello') => app.call('GET', `/api/user/repository/${repository}/microagents`);
const content = (file: string, repository = 'demo/hello') =>
  app.call('GET', `/api/user/repository/${repository}/microagents/content?file_path=${encodeURIComponent(file)}`);

describe('the microagents of a repository', () => {
  it('are refused with a bare text as long as no git provider is connected', async () => {
    for (const answer of [await list(), await content('README.md')]) {
      expect(answer).toMatchObject({ status: 401, body: 'Git provider token required. (such as GitHub).' });
    }
  });

  it('are listed from its folder for them, with the rules file of editors', async () => {
    pushFiles({
      '.openhands/microagents/release.md': KNOWLEDGE,
      '.openhands/microagents/repo.md': 'Read the README.\n',
      '.openhands/microagents/notes.txt': 'no microagent\n',
      '.openhands/microagents/more/deep.md': 'too deep\n',
      '.cursorrules': 'Be short.\n',
    });
    await connect();
    const { status, body } = await list();
    expect(status).toBe(200);
    const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown;
    expect(body).toEqual([
      { name: 'release', path: '.openhands/microagents/release.md', created_at },
      { name: 'repo', path: '.openhands/microagents/repo.md', created_at },
      { name: 'cursorrules', path: '.cursorrules', created_at },
    ]);
  });

  it('are none where there is no folder and where there is no repository', async () => {
    await connect();
    for (const name of ['demo/hello', 'demo/none', 'demo%2Fhello', 'demo/hello%2F..%2F..']) {
      expect([name, await list(name)]).toMatchObject([name, { status: 200, body: [] }]);
    }
  });

  it('are read one by one, without the front matter but with its triggers', async () => {
    pushFiles({
      '.openhands/microagents/release.md': KNOWLEDGE,
      '.openhands/microagents/inline.md': "---\r\ntriggers: [one, 'two words'] # both\r\n---\r\nDo it.\r\n",
      '.openhands/microagents/words.md':
        '---\ntriggers:\n  - no\n  - 1.0\n  - "a, b: c"\n  - >-\n    in\n    two lines\n---\n',
      '.openhands/microagents/tag.md': '---\ntriggers: !!js/function [one]\n---\n',
      '.openhands/microagents/always.md': '---\n# nothing yet\n---\nAlways.',
      '.openhands/microagents/repo.md': 'Read the README.\n---\nmore',
    });
    await connect();
    const read = async (name: string): Promise<unknown> => (await content(`.openhands/microagents/${name}`)).body;
    expect(await read('release.md')).toEqual({
      content: 'Tag it.',
      path: '.openhands/microagents/release.md',
      triggers: ['release', 'new version'],
      git_provider: 'forgejo',
    });
    expect(await read('inline.md')).toMatchObject({ content: 'Do it.', triggers: ['one', 'two words'] });
    expect(await read('words.md')).toMatchObject({ content: '', triggers: ['no', '1.0', 'a, b: c', 'in two lines'] });
    expect(await read('tag.md')).toMatchObject({ triggers: ['one'] });
    expect(await read('always.md')).toMatchObject({ content: 'Always.', triggers: [] });
    expect(await read('repo.md')).toMatchObject({ content: 'Read the README.\n---\nmore', triggers: [] });
  });

  it('refuse front matter that is no YAML, that says something else, or that grows when it is read', async () => {
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x, x]',
      ...[...'bcdefgh'].map((name, at) => {
        const before = 'abcdefg'[at] ?? '';
        return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`;
      }),
    ].join('\n');
    const broken: Record<string, string> = {
      open: 'triggers: [one',
      text: 'triggers: one',
      numbers: 'triggers: [{ a: b }]',
      list: '- triggers',
      twice: 'triggers: [one]\ntriggers: [two]',
      long: `triggers: [${'x'.repeat(30_000)}]`,
      bomb: `${bomb}\ntriggers: *h`,
      deep: '- '.repeat(2_000),
      keys: '? '.repeat(500), // half a minute, without a bound
      steps: Array.from({ length: 130 }, (_, level) => `${' '.repeat(level)}?`).join('\n'),
      brackets: '['.repeat(3_000),
    };
    pushFiles(Object.fromEntries(Object.entries(broken).map(([name, text]) => [`${name}.md`, `---\n${text}\n---\n`])));
    await connect();
    for (const name of Object.keys(broken)) {
      const body = expect.stringMatching(new RegExp(`^Failed to parse microagent file ${name}.md: `)) as unknown;
      expect(await content(`${name}.md`)).toMatchObject({ status: 422, body });
    }
  });

  it('refuse a file that is not there, and what leads out of the repository', async () => {
    await connect();
    for (const file of [
      '.openhands/microagents/none.md',
      '.openhands',
      '../../branches',
      'a/../README.md',
      './README.md',
    ]) {
      const body = `Microagent file ${file} not found in demo/hello`;
      expect(await content(file)).toMatchObject({ status: 401, body });
    }
    expect(await content('README.md', 'demo/none')).toMatchObject({ status: 401 });
    expect(await app.call('GET', '/api/user/repository/demo/hello/microagents/content')).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['query', 'file_path'] }] },
    });
  });

  it('are told as a 502 when the host does not answer', async () => {
    await connect();
    await host.close();
    expect((await list()).status).toBe(502);
    expect((await content('README.md')).status).toBe(502);
  });
});
