/** What a terminal shows at the end of a run, and the requests that this takes. */
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  agentMessage,
  event,
  finish,
  ID,
  status,
  userMessage,
} from '../../client/support/v1-server.ts';
import {
  BACKEND_DASHED_ID,
  BACKEND_ID,
  useBackendWorktree,
} from '../../client/support/backend-server.ts';
import type { Reply } from '../../support/server.ts';
import { idleClock } from '../../support/test-clock.ts';
import {
  happens,
  stateChanges,
  userSays,
  useV0,
  useV1,
  V0_ID,
} from '../../support/use-scripted.ts';
import { useWorld, type Ending, type Suite } from '../../support/use-world.ts';
import { finish as finishes, makeRepository, replayFile, run } from './support.ts';

const SHORT = '0a1b2c3d';
const STATE = `GET /agent/api/conversations/${ID}`;
const EVENTS = `${STATE}/events/search`;
const COMMAND = 'POST /agent/api/bash/execute_bash_command';

/** As git prints `--numstat -z`. */
function numstat(...files: string[]): Reply {
  const stdout = Buffer.from(files.map((file) => `${file}\0`).join('')).toString('base64');
  return { json: { id: 'o1', order: 0, exit_code: 0, stdout, stderr: null } };
}

/** Off a terminal, then on one: the requests that only the second has sent. */
async function further(at: Suite, line: string, ending: Ending): Promise<string[]> {
  const requests = async (columns?: number): Promise<string[]> => {
    at.server.asked.length = 0;
    const how =
      columns === undefined
        ? { code: ending.code ?? 0 }
        : { ...ending, columns, clock: idleClock() };
    await at.ends(`${line} --no-color`, how);
    return at.server.lines();
  };
  await at.acs('whoami');
  const before = await requests();
  const all = await requests(100);
  expect(all.slice(0, before.length)).toEqual(before);
  return all.slice(before.length);
}

describe('the end of a run on a terminal', () => {
  const at = useV1({ clock: () => idleClock() });
  let files: Reply | Promise<Reply>;
  const ended = (word: string, ...events: Record<string, unknown>[]): void => {
    at.v1.addConversation({ execution_status: word });
    at.v1.agentState['execution_status'] = word;
    at.v1.agentEvents = [userMessage('hello'), ...events, status(word)];
  };
  beforeEach(() => {
    files = numstat('1\t1\tgreet.sh');
    ended('finished', finish('All \x1b[31mdone'));
    at.v1.before = ({ path }) => (path.endsWith('/execute_bash_command') ? files : null);
  });

  it('of conv follow is the outcome, the changed files and the command that takes them, by two requests', async () => {
    const ending = {
      out: /✓ All \\x1b\[31mdone\n✓ finished\ngreet\.sh \+1 −1\n$/,
      err: `take the changes: acs conv pull ${SHORT} -o <folder>\n`,
    };
    expect(await further(at, `conv follow ${ID}`, ending)).toEqual([STATE, COMMAND]);
    const other = await at.ends(`conv follow ${ID} --format tsv`, {
      columns: 100,
      hides: 'acs conv',
    });
    expect(other.out).not.toContain('greet.sh');
  });

  it('of conv wait begins with the answer', async () => {
    at.v1.addConversation({ execution_status: 'finished', selected_repository: 'team/app' });
    const out = 'All \\x1b[31mdone\n\n✓ finished\ngreet.sh +1 −1\n';
    const err = `take the changes: acs conv pull ${SHORT}\n`;
    expect(await further(at, `conv wait ${ID}`, { out, err })).toEqual([EVENTS, STATE, COMMAND]);
    const { out: record } = await at.ends(`conv wait ${ID} --format table`, {
      columns: 100,
      err: '',
    });
    expect(record).toContain('exit code');
  });

  it('names the profile of the command line in its command', async () => {
    at.v1.before = () => null;
    const { url } = at.server;
    const stdin = 'app-key-0123456789';
    await at.ends(`login work --base-url ${url} --api-key-file -`, { stdin });
    const err = `continue it: acs conv chat ${SHORT} -p work`;
    await at.ends(`conv wait ${ID} -p work`, { columns: 100, err });
  });

  it.each<[string, () => void]>([
    ['nothing was changed', () => (files = numstat())],
    ['the server does not answer in 2 s', () => (files = new Promise(() => {}))],
    ['git fails', () => (files = { json: { exit_code: 45, stdout: '' } })],
    ['the answer has another shape', () => (files = { json: [] })],
  ])('has no files, and the command that continues, where %s', async (_, prepare) => {
    prepare();
    const { out } = await at.ends(`conv follow ${ID} --no-color`, {
      columns: 100,
      err: `continue it: acs conv chat ${SHORT}\n`,
    });
    expect(out.trimEnd().split('\n').at(-1)).toBe('✓ finished');
  });

  it('reads nothing of a paused sandbox, and does not start it', async () => {
    at.v1.addConversation({
      sandbox_status: 'PAUSED',
      conversation_url: null,
      execution_status: null,
    });
    at.v1.appEvents = at.v1.agentEvents;
    const ending = { err: 'acs conv chat', out: /✓ finished/ };
    expect(await further(at, `conv follow ${ID}`, ending)).toEqual([]);
  });

  it('lists ten files, and the total of more', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}\t1\tsrc/${index}.ts`);
    files = numstat(...names, '-\t-\tlogo.png', '2\t0\t', 'old\tname', 'new\n\x1b[2Jname');
    const { out } = await at.ends(`conv wait ${ID} --no-color`, { columns: 100 });
    const lines = out.trimEnd().split('\n').slice(3);
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe('… 4 more; 14 files +68 −12');
    files = numstat('-\t-\tlogo.png', '2\t0\t', 'old\tname', 'new\n\x1b[2Jname');
    const few = await at.ends(`conv wait ${ID} --no-color`, { columns: 100 });
    expect(few.out).toMatch(/\nlogo\.png\nnew\\n\\x1b\[2Jname \+2 −0\n$/);
  });

  it('of a failed run has its reason once, and the command that continues it', async () => {
    const detail = 'the endpoint answered with HTTP 401';
    ended('error', event('ConversationErrorEvent', { code: 'LLMError', detail }));
    const follow = await at.ends(`conv follow ${ID} --no-color`, {
      code: 1,
      columns: 100,
      err: `continue it: acs conv resume ${SHORT}\n`,
    });
    expect(follow.out).toMatch(/✗ LLMError: the endpoint .*401\n.*· error\n✗ failed\n/);
    expect(follow.out.split(detail)).toHaveLength(2);
    const hidden = await at.ends(`conv follow ${ID} --tail 0`, { code: 1, columns: 100 });
    expect(hidden.out.split(detail)).toHaveLength(2);
    const wait = await at.ends(`conv wait ${ID} --no-color`, { code: 1, columns: 100 });
    expect(wait.out).toMatch(new RegExp(`^✗ failed: ${detail}\n`));
  });

  it.each([
    ['waiting_for_confirmation', 8, 'answer it: acs conv confirm'],
    ['paused', 6, 'continue it: acs conv resume'],
    ['stuck', 1, 'continue it: acs conv chat'],
  ])('of a run that is %s names the command that goes on', async (word, code, command) => {
    ended(word, agentMessage('Well.'));
    const { err } = await at.ends(`conv wait ${ID}`, { code, columns: 100 });
    expect(err.trimEnd().split('\n').at(-1)).toContain(`${command} ${SHORT}`);
    expect(err).not.toContain(ID);
  });

  it('of a rejected action names the command that continues', async () => {
    ended('idle', event('UserRejectObservation', { rejection_reason: 'no' }));
    await at.ends(`conv wait ${ID} --no-color`, {
      code: 8,
      columns: 100,
      out: /^✗ idle: an action was rejected/,
      err: `continue it: acs conv chat ${SHORT}\n`,
    });
  });
});

describe('the changed files at the end of a run', () => {
  const at = useWorld({ api: 'both', spec: 'process' });
  const repository = () => path.join(at.dir, 'app');
  beforeAll(async () => {
    await makeRepository(repository());
    const command =
      'git mv README.md GUIDE.md; printf "\\0\\1" >logo.bin; echo new >"a b"; git commit -qam moved; ' +
      'echo more >>GUIDE.md; ln -s GUIDE.md link';
    await replayFile(at.world, 'changes.json', [run(command), finishes('Moved.')]);
  });

  it.each([
    ['v1', 'GUIDE.md +1 −0\na b +1 −0\nlink +1 −0\nlogo.bin\n'],
    // V0 has a request for each file.
    ['v0', 'GUIDE.md\nREADME.md\na b\nlink\nlogo.bin\n'],
  ])('are those of git over %s, as conv new --wait prints them', async (api, files) => {
    const words = ['conv', 'new', 'move it', '--repo', repository(), '--replay', 'changes.json'];
    await at.ends([...words, '--wait', '--api', api, '--no-color'], {
      columns: 100,
      out: `Moved.\n\n✓ finished\n${files}`,
      err: /take the changes: acs conv pull [0-9a-f]{8}\n$/,
    });
  });
});

describe('the end of a run over V0', () => {
  const at = useV0({ clock: () => idleClock() });

  it('takes the record and the list of changes, without lines', async () => {
    at.v0.record['status'] = 'RUNNING';
    userSays(at.v0, 'hello');
    happens(at.v0, {
      source: 'agent',
      action: 'finish',
      message: 'Done.',
      args: { final_thought: 'Done.' },
    });
    stateChanges(at.v0, 'finished');
    at.script({
      [`GET /api/conversations/${V0_ID}/git/changes`]: { json: [{ path: 'a.txt', status: 'M' }] },
    });
    const lines = await further(at, `conv follow ${V0_ID}`, { out: /✓ finished.*\na\.txt\n$/ });
    const record = `GET /api/conversations/${V0_ID}`;
    expect(lines).toEqual([record, `${record}/git/changes`]);
  });
});

describe('the end of a run of a backend', () => {
  const at = useBackendWorktree();

  it('takes the record and one command', async () => {
    at.write('a.txt', 'one\ntwo\n');
    const lines = await further(at, `conv follow ${BACKEND_ID}`, { out: /\na\.txt \+1 −0\n$/ });
    const record = `GET /api/conversations/${BACKEND_DASHED_ID}`;
    expect(lines).toEqual([record, 'POST /api/bash/execute_bash_command']);
  });
});
