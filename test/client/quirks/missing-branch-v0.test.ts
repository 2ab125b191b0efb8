import { describe, it } from 'vitest';
import { V0_ID as ID, stateChanges, userSays, useV0 } from '../../support/use-scripted.ts';

const at = useV0();
const START = 'conv new hello --repo team/demo --git-provider github';
const HEAD = { 'demo/.git/HEAD': 'ref: refs/heads/main\n' };
const REFS =
  '# pack-refs with: peeled\nabc refs/remotes/origin/main\nabc refs/remotes/origin/next\n';
/** As recorded on 1.6.0. */
const MISSING = {
  status: 500,
  json: { error: 'Error opening file: **ErrorObservation**\nFile not found: /workspace/zzz' },
};
const NOT_READY = { status: 404, json: { error: `Runtime not available for conversation ${ID}` } };

/**
 * Of the workspace, in which each other file is missing; before it is there, so many reads are
 * answered `NOT_READY`.
 */
function holds(files: Record<string, string>, notReady = 0): void {
  let left = notReady;
  userSays(at.v0, 'hello');
  stateChanges(at.v0, 'running');
  at.v0.record = { ...at.v0.record, selected_repository: 'team/demo' };
  at.script(({ path, query }) => {
    if (!path.endsWith('/select-file')) return null;
    if (left-- > 0) return NOT_READY;
    const code = files[query.get('file') ?? ''];
    return code === undefined ? MISSING : { json: { code } };
  });
}

describe('conv new --repo over V0 exits', () => {
  it.each<[number, string, string, Record<string, string>, number]>([
    [0, '', '', HEAD, 0],
    [0, '', 'read only after a while', HEAD, 5],
    [0, '--branch main', '', HEAD, 0],
    [
      0,
      '--branch main',
      'cloned into the working directory',
      { '.git/HEAD': 'ref: refs/heads/main\n' },
      0,
    ],
    [0, '--branch next', '', { ...HEAD, 'demo/.git/refs/heads/next': 'abc' }, 0],
    [5, '', 'the repository team/demo did not arrive', {}, 0],
    [5, '--branch main', 'the repository team/demo did not arrive', {}, 0],
    [
      5,
      '--branch nowhere',
      'the branch nowhere of team/demo did not arrive',
      { ...HEAD, 'demo/.git/packed-refs': REFS },
      0,
    ],
    [
      9,
      '--branch next',
      'ignored --branch next and started',
      { ...HEAD, 'demo/.git/packed-refs': REFS },
      0,
    ],
    [9, '', 'the workspace cannot be read: Runtime not available', HEAD, Infinity],
  ])('%i %s: %s', async (code, flags, err, files, notReady) => {
    holds(files, notReady);
    await at.ends(`${START} ${flags}`, { code, err: code === 0 ? [] : err });
  });

  it('5 only once the agent has a state, which it has after the clone', async () => {
    const files: Record<string, string> = {};
    holds(files);
    const events = at.v0.events.splice(0);
    let reads = 0;
    at.v0.before = ({ path }) => {
      if (path.endsWith('/events') && ++reads === 3) {
        Object.assign(files, HEAD);
        at.v0.events.push(...events);
      }
      return null;
    };
    await at.ends(START, {});
  });
});

describe('without the repository that was asked for', () => {
  it.each([
    ['conv diff', { json: [] }, 'the repository team/demo did not arrive'],
    [
      'conv diff',
      { status: 404, json: { error: 'Not a git repository' } },
      'the repository team/demo did not arrive',
    ],
    ['conv pull -o work', { json: [] }, 'the repository team/demo did not arrive'],
  ])('%s exits 5 when the server answers %j', async (line, changes, err) => {
    holds({});
    at.script({ [`GET /api/conversations/${ID}/git/changes`]: changes });
    const [noun = '', verb = '', ...rest] = line.split(' ');
    await at.ends([noun, verb, ID, ...rest], { code: 5, err });
  });

  it('and with files in its folder, conv new has started and conv diff exits 6: the agent has removed .git', async () => {
    holds({});
    at.script({
      [`GET /api/conversations/${ID}/list-files`]: { json: ['src/', 'README.md'] },
      [`GET /api/conversations/${ID}/git/changes`]: { json: [] },
    });
    await at.ends(START, {});
    await at.ends(`conv diff ${ID}`, {
      code: 6,
      out: '',
      err: 'the agent has removed or replaced .git',
    });
  });

  it('conv diff exits 0 when the repository is there and nothing changed', async () => {
    holds(HEAD);
    at.script({ [`GET /api/conversations/${ID}/git/changes`]: { json: [] } });
    await at.ends(`conv diff ${ID}`, { err: 'nothing changed in the workspace' });
  });

  it('conv diff of a conversation without one exits 0 and names what is left out', async () => {
    at.script({
      [`GET /api/conversations/${ID}/git/changes`]: {
        status: 404,
        json: { error: 'Not a git repository' },
      },
    });
    await at.ends(`conv diff ${ID}`, {
      err: 'left out: changes in a workspace without a repository',
    });
  });
});
