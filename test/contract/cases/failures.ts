/** Runs that end badly: each with an outcome, a reason in words, and its exit code. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { expect } from 'vitest';
import {
  agentServerOf,
  conversation,
  endedRun,
  errorOf,
  events,
  expectCode,
  inEachDialect,
  json,
  lastStates,
  newest,
  ok,
  show,
  started,
  until,
  untilMessagePassedOn,
  type OutcomeJson,
} from '../support.ts';
import type { ContractCase, Dialect, Scenario, Target, Verdict } from '../target.ts';
import { PACKAGE_ROOT } from '../../support/world.ts';

/**
 * Starts a run that does not end: a wait with a limit shows it. A model that withholds its answer
 * shows nothing later than it shows at once; other runs get the time for some steps.
 */
async function endless(target: Target, dialect: Dialect, scenario: Scenario): Promise<string> {
  const { id } = await started(target, dialect, scenario);
  const limit = scenario === 'SILENT' ? '3s' : '10s';
  const ended = expectCode(
    await target.acs('conv', 'wait', id, '--wait-timeout', limit, '--json'),
    124,
  );
  expect(json<{ status: string }>(ended).status).toBe('running');
  return id;
}

/** The same, and that it can be stopped. */
async function continues(target: Target, dialect: Dialect, scenario: Scenario): Promise<string> {
  const id = await endless(target, dialect, scenario);
  await ok(target, 'conv', 'stop', id);
  return id;
}

/**
 * A V0 run that waits for its model continues while other requests are served; after a stop the
 * server answers no request until the model has answered, and the run is then stopped.
 */
async function stopsLate(target: Target): Promise<Verdict> {
  const id = await endless(target, 'v0', 'SILENT');
  const stop = await target.acs('conv', 'stop', id, '--request-timeout', '5s', '--json');
  const list = await target.acs('conv', 'list', '--request-timeout', '5s', '--json');
  target.releaseModel?.();
  expect([stop.code, list.code]).toEqual([10, 10]);
  await until('the end of the run', async () => (await show(target, id)).status !== 'running');
  const { status } = await show(target, id);
  const answers = `conv stop "${errorOf(stop).message}", conv list "${errorOf(list).message}"`;
  return {
    notHere:
      `after a stop the server answers no request until the model has answered: ${answers}; ` +
      `then ${status}`,
  };
}

/** What the agent server of a conversation answers to the request to interrupt it. */
async function answerToInterrupt(target: Target, id: string): Promise<string> {
  const { url, key } = await agentServerOf(target, id);
  const headers = { 'x-session-api-key': key };
  const answer = await fetch(`${url}/api/conversations/${randomUUID()}/interrupt`, {
    method: 'POST',
    headers,
  });
  return `${answer.status} ${await answer.text()}`;
}

/** The commands of the agent in a run with a limit of three, as its sandbox has stored them. */
async function steps(target: Target, id: string): Promise<number> {
  return (await events(target, id)).filter(({ kind }) => kind === 'ActionEvent').length;
}

/** The local service gets the model for the time of the case; before, a start is refused. */
async function withModel(
  target: Target,
  dialect: Dialect,
  run: () => Promise<Verdict | void>,
): Promise<Verdict | void> {
  const { modelUrl } = target;
  if (modelUrl === undefined) return await run();
  expectCode(await conversation(target, dialect, 'FAIL401'), 3, 'neither replay nor model');
  const settings = ['llm_model=openai/gpt-4o', `llm_base_url=${modelUrl}`];
  // A refused call is repeated for 15 s otherwise.
  if (target.dialects.includes('v1')) settings.push('agent_settings.llm.num_retries=0');
  await ok(target, 'settings', 'set', ...settings);
  try {
    return await run();
  } finally {
    await ok(target, 'settings', 'unset', ...settings.map((each) => each.replace(/=.*/, '')));
  }
}

async function fails(
  target: Target,
  dialect: Dialect,
  scenario: Scenario,
  reason: RegExp,
): Promise<Verdict | void> {
  if (target.hasModel && dialect === 'v0' && scenario === 'FAIL429') {
    const states = await lastStates(target, await continues(target, dialect, scenario));
    return {
      notHere:
        'the server never says that the run has ended, and wait ends with 124; its last ' +
        `states, the newest first: ${states}`,
    };
  }
  const ended = expectCode(await conversation(target, dialect, scenario, '--wait', '--json'), 1);
  const made = json(ended);
  expect(made).toMatchObject({ status: 'failed', outcome: { exit_code: 1, status: 'failed' } });
  expect(`${made.outcome?.reason?.code} ${made.outcome?.reason?.text}`).toMatch(reason);
  expect((await show(target, made.id)).reason, 'the reason afterwards').not.toBeNull();
  expectCode(await target.acs('conv', 'wait', made.id), 1);
  expectCode(
    await target.acs('conv', 'send', made.id, 'QUICK now', '--wait'),
    0,
    'a message continues it',
  );
}

export const FAILURES: ContractCase[] = [
  ...inEachDialect('failure: the model refuses the key', (target, dialect) =>
    withModel(target, dialect, () =>
      fails(target, dialect, 'FAIL401', /authentication|API key|AUTHENTICATION/i),
    ),
  ),
  ...inEachDialect('failure: the model limits its rate', (target, dialect) =>
    withModel(target, dialect, () => fails(target, dialect, 'FAIL429', /rate/i)),
  ),
  ...inEachDialect('failure: the model answers 500', (target, dialect) =>
    withModel(target, dialect, () => fails(target, dialect, 'FAIL500', /error|unavailable/i)),
  ),
  ...inEachDialect('failure: the model closes the connection', (target, dialect) =>
    withModel(target, dialect, () =>
      fails(target, dialect, 'CUT', /connection|error|unavailable/i),
    ),
  ),
  ...inEachDialect(
    'failure: the model returns nothing: the run continues, and can be stopped',
    (target, dialect) =>
      withModel(target, dialect, async () => {
        if (target.hasModel && dialect === 'v0') return stopsLate(target);
        if (target.traits.includes('no interrupt')) {
          const answer = await answerToInterrupt(target, await endedRun(target, 'v1', 'QUICK'));
          expect(answer).toBe('404 {"detail":"Not Found"}');
          return {
            notHere:
              'a stop waits for the model: the agent server answers POST …/interrupt with ' +
              `${answer}`,
          };
        }
        await continues(target, dialect, 'SILENT');
      }),
  ),
  ...inEachDialect('failure: too many steps', async (target, dialect) => {
    await ok(target, 'settings', 'set', 'max_iterations=3');
    try {
      if (target.traits.includes('no step limit in V1') && dialect === 'v1') {
        const done = await steps(target, await continues(target, dialect, 'COUNT'));
        const { body } = await target.request('GET', '/api/settings');
        const { max_iterations } = body as { max_iterations: number };
        expect(max_iterations).toBe(3);
        expect(done).toBeGreaterThan(3);
        return {
          notHere:
            `the server does not apply the limit to V1: it has stored ${max_iterations} and ` +
            'the run did more',
        };
      }
      const ended = expectCode(await conversation(target, dialect, 'COUNT', '--wait', '--json'), 1);
      const { outcome } = json(ended);
      expect(`${outcome?.reason?.code} ${outcome?.reason?.text}`).toMatch(
        /iteration|MaxIterations/i,
      );
    } finally {
      await ok(target, 'settings', 'unset', 'max_iterations');
    }
  }),
  ...inEachDialect('failure: an agent that repeats one step is stuck', (target, dialect) =>
    withModel(target, dialect, async () => {
      const ended = expectCode(await conversation(target, dialect, 'LOOP', '--wait', '--json'), 1);
      expect(json(ended)).toMatchObject({
        status: dialect === 'v0' ? 'failed' : 'stuck',
        outcome: { exit_code: 1 },
      });
    }),
  ),
  {
    name: 'failure: a model that cannot be reached',
    run: (target) =>
      withModel(target, newest(target), async () => {
        const before = json<{ llm_base_url: string }>(
          await ok(target, 'settings', 'get', '--json'),
        ).llm_base_url;
        await ok(target, 'settings', 'set', 'llm_base_url=http://127.0.0.1:9/v1');
        try {
          const made = json(
            expectCode(
              await conversation(target, newest(target), 'FAIL500', '--wait', '--json'),
              1,
            ),
          );
          expect(made.outcome?.reason?.text).toBeTruthy();
        } finally {
          await ok(target, 'settings', 'set', `llm_base_url=${before}`);
        }
      }),
  },
  {
    name: 'failure: a start and a message without a text are exit 2',
    async run(target) {
      const { id } = await started(target, newest(target), 'QUICK', '--wait');
      expectCode(await target.acs('conv', 'send', id, ''), 2);
      expectCode(await target.acs('conv', 'new', '', '--no-repo'), 2);
    },
  },
];

// A server that goes away in the middle, and one that comes back. These cases come last: sandboxes
// may not outlive it.

/** A command as a process of its own, so that what it has printed can be seen while it runs. */
function acsProcess(target: Target, ...args: string[]) {
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, 'bin', 'acs.cjs'), ...args], {
    env: target.env,
    cwd: target.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { said, ended, end: () => child.kill('SIGKILL') };
}

export const RESTART: ContractCase[] = inEachDialect(
  'follow: the server is ended and started again in the middle',
  async (target, dialect) => {
    const { id } = await started(target, dialect, 'COUNT');
    const follow = acsProcess(target, 'conv', 'follow', id, '--json', '--wait-timeout', '4m');
    try {
      await until('the command on the screen', () =>
        Promise.resolve(/Action|action:run/.test(follow.said.out)),
      );
      if ((await show(target, id)).dialect === 'v1') await untilMessagePassedOn(target, id);
      await target.restart();
      // The local service pauses the run; the sandboxes of a genuine one are gone with it.
      expect(await follow.ended, follow.said.err).toBe(6);
    } finally {
      follow.end();
    }
    const last = JSON.parse(follow.said.out.trimEnd().split('\n').at(-1) ?? '') as OutcomeJson;
    expect(last).toMatchObject({ type: 'outcome', exit_code: 6 });
    expect(['paused', 'stopped', 'archived']).toContain(last.status);
    expect(['paused', 'stopped', 'archived']).toContain((await show(target, id)).status);
    expect((await ok(target, 'conv', 'events', id, '--json')).out).toContain('COUNT please');
  },
);
