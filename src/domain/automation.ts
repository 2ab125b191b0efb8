import { isRecord, type Json } from '../protocol/shape.ts';

/** `prompt`, `plugin`: made from a preset. `plain`: a program in an archive of its own. */
export type AutomationKind = 'prompt' | 'plugin' | 'plain';

export interface Automation {
  id: string;
  name: string;
  enabled: boolean;
  disabled_reason: string | null;
  /** As served: `{type: "cron", schedule, timezone}`, `{type: "event", source, on, filter, …}`. */
  trigger: Json;
  prompt: string | null;
  model: string | null;
  timeout_seconds: number | null;
  last_run_at: string | null;
  created_at: string | null;
  updated_at: string | null;
  kind: AutomationKind;
  /** Of `template`, which a client may set at the creation only. */
  template: { id: string; version: string } | null;
  /** What the server has of the request that creates such an automation, without `template`. */
  definition: Json;
}

/** `unknown(<name>)`: of a later server. */
export type AutomationRunStatus =
  'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'skipped' | `unknown(${string})`;

export interface AutomationRun {
  id: string;
  automation_id: string | null;
  status: AutomationRunStatus;
  /** What the run does now, in the words of the server; the last one where it has ended. */
  phase: string | null;
  error: string | null;
  conversation_id: string | null;
  cost_usd: number | null;
  created_at: string | null;
  started_at: string | null;
  completed_at: string | null;
}

export function blankRun(id: string, status: AutomationRunStatus): AutomationRun {
  return {
    id,
    automation_id: null,
    status,
    phase: null,
    error: null,
    conversation_id: null,
    cost_usd: null,
    created_at: null,
    started_at: null,
    completed_at: null,
  };
}

/** Null while the run goes on, and for a status that a later server has invented. */
export function endOfRun({ status }: AutomationRun): 'ok' | 'failed' | 'conflict' | null {
  if (status === 'pending' || status === 'running' || status.startsWith('unknown(')) return null;
  if (status === 'completed') return 'ok';
  return status === 'failed' ? 'failed' : 'conflict';
}

export const AUTOMATION_ROUTES = {
  prompt: '/v1/preset/prompt',
  plugin: '/v1/preset/plugin',
  plain: '/v1',
} as const satisfies Record<AutomationKind, string>;

/** A request that creates an automation. */
export interface AutomationDraft {
  kind: AutomationKind;
  body: Json;
}

export interface DraftProblem {
  /** Such as `trigger.schedule` or `repos[0].url`; null: of the whole draft. */
  field: string | null;
  message: string;
}

export function filtersOf({ body: { trigger } }: AutomationDraft): string[] {
  const filter = isRecord(trigger) ? trigger['filter'] : null;
  return typeof filter === 'string' ? [filter] : [];
}

const FUNCTIONS = new Set(
  (
    'abs avg ceil contains ends_with floor join keys length map max max_by merge min min_by ' +
    'not_null reverse sort sort_by starts_with sum to_array to_number to_string type values ' +
    'glob icontains regex lower upper'
  ).split(' '),
);

/**
 * Why a part of a JMESPath filter is never true at the automation service, which accepts it: `!`
 * binds closer than the dot, `"text"` is the name of a member, and a function that does not exist
 * is an error of each event.
 */
export function neverMatches(filter: string): string[] {
  const plain = filter.replace(/'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/g, "''");
  const negated = /!\s*((?:@|\w+|"[^"]*")(?:\[[^\]]*\])*\.[\w.]+)/.exec(plain)?.[1];
  const compared = /[=!]=\s*("[^"]*")/.exec(plain)?.[1];
  const unknown = [...plain.matchAll(/(\w+)\s*\(/g)].find(
    ([, name = '']) => !FUNCTIONS.has(name),
  )?.[1];
  return [
    negated !== undefined && `!${negated} is never true: write !(${negated})`,
    compared !== undefined &&
      `${compared} is the name of a member: write '${compared.slice(1, -1)}' for a text`,
    unknown !== undefined && `there is no function ${unknown}`,
  ].filter((problem) => problem !== false);
}
