import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isAppError, isForReader } from '../../base/errors.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { withinDeadline, type TimedContext } from '../shared/derived-context.ts';
import { shortId, type Change } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import {
  addChoice,
  changeRecords,
  type ChangeOptions,
  type ChangeRequest,
  type Verb,
} from '../shared/change.ts';
import { refuseRunsOf, runsIn } from '../shared/in-sandbox.ts';
import type { Target } from '../shared/resource.ts';
import {
  addWaitTimeout,
  checkLimitWithoutNoWait,
  limitsOf,
  type WaitOptions,
} from '../shared/wait-limit.ts';
import { gone, readOrGone, sandboxes, sandboxView } from './sandboxes.ts';
import { waitForStatus } from './wait-for-status.ts';

type Options = ChangeOptions & WaitOptions;
type SandboxVerb = Omit<Verb<TimedContext, Sandbox, Options>, 'resource'>;
type Request = ChangeRequest<Sandbox, Options>;

const EXITS = ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'] as const;

export function declarePause(parent: Command, ctx: Context): void {
  const command = parent
    .command('pause')
    .description('pause sandboxes: their processes stop, their files are kept');
  declareChange(command, ctx, {
    word: 'pause',
    pastTense: 'paused',
    async apply(timed, target, request) {
      if (target.matches !== undefined) await refuseRuns('pause', target, request.options);
      return await move(timed, 'paused', target, request);
    },
  });
  command.option('--force', 'also pause selected sandboxes with a run in progress');
  explain(command, {
    notes: ['A paused sandbox is left unchanged: exit 0, "changed":false.'],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: EXITS,
    examples: {
      'acs sandbox pause @last': 'pause the sandbox of the last conversation',
      'acs sandbox pause --idle 2h -y': 'pause all sandboxes that were idle for two hours',
    },
  });
}

export function declareResume(parent: Command, ctx: Context): void {
  const command = parent
    .command('resume')
    .description('resume paused sandboxes, without continuing their runs');
  declareChange(command, ctx, resume());
  explain(command, {
    notes: [
      'A running sandbox is left unchanged: exit 0, "changed":false.',
      'To continue an unfinished run use `acs conv resume`.',
    ],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: EXITS,
    examples: {
      'acs sandbox resume @last': 'resume the sandbox of the last conversation',
      'acs sandbox list --status paused -q | acs sandbox resume -': 'resume all paused sandboxes',
    },
  });
}

/** Throws `conflict` for a sandbox of another spec. */
function resume(spec?: string): SandboxVerb {
  return {
    word: 'resume',
    pastTense: 'resumed',
    apply(timed, target, request) {
      const { id, spec_id: its } = target.seen;
      if (spec !== undefined && its !== spec) {
        const text = `sandbox ${id} has the spec ${its ?? '(unknown)'}, not ${spec}`;
        throw new AppError('conflict', text);
      }
      return move(timed, 'running', target, request, spec);
    },
  };
}

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent
    .command('delete')
    .aliases(['rm', 'remove'])
    .description('delete sandboxes and their files');
  declareChange(command, ctx, {
    word: 'delete',
    pastTense: 'deleted',
    confirms: 'always',
    apply: deleteOne,
    ifGone: ({ id, seen }, { options }) =>
      options.ignoreNotFound
        ? { changed: false, before: null, after: null, record: gone(id, seen) }
        : null,
  });
  command
    .option('--force', 'also delete sandboxes with a run in progress')
    .option('--ignore-not-found', 'succeed when a sandbox does not exist');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The conversations can still be read, but ' +
        'cannot continue.',
    ],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: EXITS,
    examples: {
      'acs sandbox delete @last -y': 'delete the sandbox of the last conversation',
      'acs sandbox delete --status paused --older-than 7d --dry-run':
        'print which sandboxes would be deleted',
    },
  });
}

function declareChange(command: Command, ctx: Context, verb: SandboxVerb): void {
  addChoice(command, sandboxes, SANDBOX_STATUSES).option(
    '--no-wait',
    'return as soon as the server has accepted the request',
  );
  addWaitTimeout(command);
  command.action((ids: string[], options: Options) => changeSandboxes(ctx, verb, ids, options));
}

async function changeSandboxes(
  ctx: Context,
  verb: SandboxVerb,
  ids: string[],
  options: Options,
): Promise<void> {
  checkLimitWithoutNoWait(options);
  await withinDeadline(ctx, limitsOf(ctx, options), (timed) =>
    changeRecords(timed, { ...verb, resource: sandboxes }, ids, options),
  );
}

/** A sandbox with this status gets no request; one that is starting is only waited for. */
async function move(
  ctx: TimedContext,
  to: 'paused' | 'running',
  { server, id, seen }: Target<Sandbox>,
  { options, result }: Request,
  spec?: string,
): Promise<Change<Sandbox>> {
  const before = seen.status;
  if (before === to) return { changed: false, before, after: before, record: seen };
  if (before === 'missing') throw new AppError('not-found', `sandbox ${id} is gone`);
  const isStarting = before === 'starting' && to === 'running';
  if (!isStarting)
    await orDeadline(
      ctx,
      to === 'paused' ? server.sandboxes.pause(id) : server.sandboxes.resume(id, spec),
    );
  const record =
    options.wait === false
      ? await server.sandboxes.get(id)
      : await waitForStatus(ctx, {
          server,
          id,
          wanted: [to],
          progress: result === 'item' ? 'shown' : 'hidden',
        });
  // Without the wait the server may have done nothing yet.
  const { status: after } = record;
  const changed = !isStarting && after !== before;
  return { changed, before, after, record, pending: after !== to };
}

async function deleteOne(
  ctx: TimedContext,
  target: Target<Sandbox>,
  { options }: Request,
): Promise<Change<Sandbox>> {
  const { server, id, seen } = target;
  await refuseRuns('delete', target, options);
  await orDeadline(ctx, server.sandboxes.remove(id));
  if (options.wait === false) {
    const record = await readOrGone(server, id, seen);
    const after = record.status === 'missing' ? null : record.status;
    const pending = after !== null;
    return { changed: after !== seen.status, before: seen.status, after, record, pending };
  }
  await waitForStatus(ctx, { server, id, wanted: ['missing'], progress: 'hidden' });
  return { changed: true, before: seen.status, after: null, record: gone(id, seen) };
}

/** The read after the deadline shows whether a request that it cut off was carried out. */
async function orDeadline({ deadline }: TimedContext, request: Promise<void>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!deadline.isOver(error)) throw error;
  });
}

async function refuseRuns(
  verb: string,
  { server, id }: Target<Sandbox>,
  { force }: Options,
): Promise<void> {
  if (force) return;
  refuseRunsOf(await runsIn(server, id), {
    sandboxId: id,
    verb,
    about: `sandbox ${id} has a run in progress`,
  });
}

interface StartOptions extends WaitOptions {
  spec?: string;
}

export function declareStart(parent: Command, ctx: Context): void {
  const command = parent
    .command('start')
    .description('create a sandbox, or resume an existing one');
  command
    .argument('[id]', 'an existing sandbox to resume')
    .option(
      '--spec <id>',
      'create it from this spec (acs specs list); an existing sandbox must have it',
    )
    .option('--no-wait', 'return as soon as the server has accepted the request');
  addWaitTimeout(command);
  explain(command, {
    json: ({ objectForm }) => [objectForm(sandboxView, 'changed')],
    exits: [...EXITS, 'unknown-outcome'],
    examples: {
      'acs sandbox start --json':
        'create a sandbox from the default spec and print it when it is running',
      'acs sandbox start --spec process --no-wait -q': 'create a sandbox and print its id at once',
    },
  });
  command.action(async (id: string | undefined, options: StartOptions) => {
    const { spec, ...others } = options;
    if (id !== undefined) return await changeSandboxes(ctx, resume(spec), [id], others);
    checkLimitWithoutNoWait(options);
    ctx.out.check(sandboxView, 'item');
    await withinDeadline(ctx, limitsOf(ctx, options), (timed) => createSandbox(options, timed));
  });
}

async function createSandbox(options: StartOptions, ctx: TimedContext): Promise<void> {
  const server = await ctx.servers.active();
  const created = await server.sandboxes.create(options.spec ?? null).catch((error: unknown) => {
    if (!isAppError(error) || !ctx.deadline.isOver(error)) throw error;
    throw error.with(
      { hint: 'list the sandboxes: acs sandbox list' },
      `${error.message}; whether the sandbox was created is not known`,
    );
  });
  const { id } = created;
  let sandbox = created;
  try {
    if (options.wait !== false) {
      sandbox = await waitForStatus(ctx, {
        server,
        id,
        wanted: ['running', 'paused'],
        progress: 'shown',
        onStatus: (status) => (sandbox = { ...sandbox, status }),
      });
    }
  } catch (error) {
    if (!isForReader(error)) throw error;
    await ctx.out.item(sandboxView, sandbox, { changed: true });
    await ctx.out.close();
    if (error.kind !== 'interrupted') throw error;
    throw error.with(
      { hint: `delete it: acs sandbox delete ${id}`, data: { id } },
      `${error.message}; sandbox ${id} keeps running`,
    );
  }
  const short = shortId(id);
  const line = sandbox.status === 'running' ? `started ${short}` : `${short} is ${sandbox.status}`;
  await ctx.out.change(sandboxView, sandbox, true, line);
}
