import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import { cut } from '../../base/text/well-formed.ts';
import type { Server } from '../../client/shared/server.ts';
import { endOfRun, type Automation, type AutomationRun } from '../../domain/automation.ts';
import { isAppliedByAcs } from '../../domain/automation-plan.ts';
import { dashedId, matchPrefix, normalizeId, PREFIX_MIN } from '../../domain/ids.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { parseTime } from '../../base/text/time.ts';
import type { Format } from '../../output/emit.ts';
import type { View } from '../../output/view.ts';

export interface ShownAutomation extends Automation {
  /** RFC 3339; empty for a disabled one, and for another trigger than a cron expression. */
  next_runs: string[];
}

/** The help of the argument that findAutomation reads. */
export const ONE = 'its id, the beginning of its id, or its name';

const TSV = 'id name enabled when next_run_at last_run_at model created_at updated_at'.split(' ');

/** In a table times of the next runs are those of this machine. */
export function automationView(format: Format): View<ShownAutomation> {
  const local = (time: string) =>
    new Date(time).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
  return {
    noun: 'automation',
    id: ({ id }) => id,
    fields: [
      { name: 'id', as: 'id', weight: 3 },
      { name: 'name', weight: 3 },
      { name: 'enabled', weight: 0 },
      { name: 'disabled_reason' },
      { name: 'trigger', as: 'json' },
      {
        name: 'when',
        get: ({ trigger }) => {
          const [type, ...members] = ['type', 'schedule', 'timezone', 'source', 'on'].map((name) =>
            [trigger[name] ?? []].flat().join(', '),
          );
          return members.filter((text) => text !== '').join(' ') || (type ?? '');
        },
        weight: 2,
      },
      { name: 'next_run_at', get: ({ next_runs: [next] }) => next, as: 'time', weight: 0 },
      {
        name: 'next_runs',
        get: ({ next_runs: next }) => (format === 'table' ? next.map(local) : next),
        json: { list: true },
      },
      { name: 'last_run_at', as: 'time', weight: 0 },
      { name: 'model' },
      { name: 'timeout_seconds', as: 'number' },
      { name: 'applied', get: isAppliedByAcs },
      { name: 'created_at', as: 'time' },
      { name: 'updated_at', as: 'time' },
      { name: 'prompt', weight: 2 },
    ],
    table: ['id', 'name', 'enabled', 'when', 'next_run_at', 'last_run_at'],
    tsv: TSV,
  };
}

export const runView: View<AutomationRun> = {
  noun: 'automation run',
  id: ({ id }) => id,
  fields: [
    { name: 'id', as: 'id', weight: 3 },
    { name: 'automation_id', as: 'id' },
    { name: 'status', as: 'status', weight: 0 },
    { name: 'phase', weight: 2 },
    { name: 'error', weight: 2 },
    { name: 'conversation_id', as: 'id', weight: 3 },
    { name: 'cost_usd', as: 'usd', weight: 0 },
    {
      name: 'duration_seconds',
      get: ({ started_at, completed_at }) => {
        const [from, to] = [parseTime(started_at), parseTime(completed_at)];
        return from === null || to === null ? null : Math.round((to - from) / 1000);
      },
      as: 'number',
      weight: 0,
    },
    { name: 'created_at', as: 'time', weight: 0 },
    { name: 'started_at', as: 'time', weight: 0 },
    { name: 'completed_at', as: 'time', weight: 0 },
  ],
  table: [
    'id',
    'status',
    'created_at',
    'duration_seconds',
    'cost_usd',
    'conversation_id',
    'phase',
    'error',
  ],
  line: (run) => {
    const end = endOfRun(run);
    if (end === 'ok') return [{ text: `✓ ${run.status}`, tone: 'good' }];
    const tone = end === 'failed' ? 'bad' : 'warn';
    return [
      { text: `✗ ${run.status}`, tone },
      { text: run.error === null ? '' : `: ${run.error}` },
    ];
  },
};

const NEXT_RUNS = 3;

export async function withNextRuns(
  ctx: Context,
  automations: readonly Automation[],
): Promise<ShownAutomation[]> {
  const isScheduled = ({ enabled, trigger }: Automation) => enabled && trigger['type'] === 'cron';
  if (!automations.some(isScheduled))
    return automations.map((each) => ({ ...each, next_runs: [] }));
  const { Cron } = await import('croner');
  const nextRuns = ({ trigger: { schedule, timezone = 'UTC' } }: Automation): string[] => {
    // The service reads a sixth field as seconds at the end, the library at the beginning.
    const isUsual = /^(@\w+|\S+(\s+\S+){4})$/.test(String(schedule).trim());
    if (!isUsual) return [];
    try {
      return new Cron(String(schedule), { timezone: String(timezone) })
        .nextRuns(NEXT_RUNS, new Date(ctx.clock.now()))
        .map((time) => time.toISOString().replace('.000Z', 'Z'));
    } catch {
      // An expression that only the service reads.
      return [];
    }
  };
  return automations.map((each) => ({
    ...each,
    next_runs: isScheduled(each) ? nextRuns(each) : [],
  }));
}

export async function allAutomations({ automations }: Server): Promise<Automation[]> {
  const fetch = (page: string | null, pageSize: number) => automations.list(page, pageSize);
  return (await collectPages({ fetch, id: byId })).items;
}

/** By id, name, or the beginning of an id. Throws `not-found`, and `usage` where several match. */
export async function findAutomation(server: Server, word: string): Promise<Automation> {
  const id = normalizeId(word);
  if (id !== null) return await server.automations.get(dashedId(id));
  const all = await allAutomations(server);
  const named = all.filter(({ name }) => name === word);
  const isPrefix = word.length >= PREFIX_MIN;
  const matches = named.length > 0 || !isPrefix ? named : matchPrefix(word, all, ({ id }) => [id]);
  const [match, ...others] = matches;
  if (match === undefined)
    throw new AppError('not-found', `there is no automation "${cut(word, 100)}"`, {
      hint: 'list them with: acs automation list',
    });
  if (others.length === 0) return match;
  const candidates = matches.map(({ id }) => id);
  const text = `${matches.length} automations match "${cut(word, 100)}": ${candidates.join(', ')}`;
  throw new AppError('usage', text, { hint: 'give the id', data: { candidates } });
}
