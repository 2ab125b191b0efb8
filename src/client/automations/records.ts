import { normalizeTime } from '../../base/text/time.ts';
import type {
  Automation,
  AutomationKind,
  AutomationRun,
  AutomationRunStatus,
  DraftProblem,
} from '../../domain/automation.ts';
import {
  asList,
  asRecord,
  optionalNumber,
  optionalRecord,
  optionalText,
  optionalTexts,
  requiredText,
} from '../../protocol/shape.ts';

export function readAutomation(value: unknown): Automation {
  const subject = 'automation';
  const record = asRecord(value, subject);
  const text = (name: string) => optionalText(record, name, subject);
  const preset = optionalRecord(record, 'preset_metadata', subject) ?? {};
  const template = optionalRecord(preset, 'template', subject);
  const trigger = asRecord(record['trigger'], `${subject}.trigger`);
  const kind = kindOf(preset['preset_type'], record['prompt']);
  const { preset_type: _, template: __, ...ofPreset } = preset;
  const members = kind === 'plain' ? PLAIN : PRESET;
  const own = Object.fromEntries(members.map((name) => [name, record[name] ?? null]));
  return {
    id: requiredText(record, 'id', subject),
    name: requiredText(record, 'name', subject),
    enabled: record['enabled'] === true,
    disabled_reason: text('disabled_reason'),
    trigger,
    prompt: text('prompt'),
    model: text('model'),
    timeout_seconds: optionalNumber(record, 'timeout', subject),
    last_run_at: normalizeTime(text('last_triggered_at')),
    created_at: normalizeTime(text('created_at')),
    updated_at: normalizeTime(text('updated_at')),
    kind,
    template: template && {
      id: requiredText(template, 'id', 'template'),
      version: requiredText(template, 'version', 'template'),
    },
    definition: { ...(kind === 'plain' ? {} : ofPreset), ...own },
  };
}

/** Members of the record that the request of each kind has too. */
const COMMON = ['name', 'trigger', 'model', 'timeout', 'keep_alive', 'enabled'];
const PRESET = [...COMMON, 'prompt'];
const PLAIN = [...COMMON, 'agent_profile_id', 'tarball_path', 'setup_script_path', 'entrypoint'];

function kindOf(preset: unknown, prompt: unknown): AutomationKind {
  if (preset === 'prompt' || preset === 'plugin') return preset;
  return typeof prompt === 'string' ? 'prompt' : 'plain';
}

const STATUSES: readonly string[] = 'pending running completed failed cancelled skipped'.split(' ');

export function statusOf(served: string): AutomationRunStatus {
  const status = served.toLowerCase();
  return STATUSES.includes(status) ? (status as AutomationRunStatus) : `unknown(${status})`;
}

export function readRun(value: unknown): AutomationRun {
  const subject = 'run';
  const record = asRecord(value, subject);
  const texts = optionalTexts(
    record,
    [
      'automation_id',
      'current_phase',
      'error_detail',
      'conversation_id',
      'created_at',
      'started_at',
      'completed_at',
    ],
    subject,
  );
  return {
    id: requiredText(record, 'id', subject),
    automation_id: texts.automation_id,
    status: statusOf(requiredText(record, 'status', subject)),
    phase: texts.current_phase,
    error: texts.error_detail,
    conversation_id: texts.conversation_id,
    cost_usd: optionalNumber(record, 'cost', subject),
    created_at: normalizeTime(texts.created_at),
    started_at: normalizeTime(texts.started_at),
    completed_at: normalizeTime(texts.completed_at),
  };
}

export function readProblems(value: unknown): DraftProblem[] {
  const record = asRecord(value, 'validation');
  if (record['valid'] === true) return [];
  const problems = asList(record['errors'], 'validation.errors').map((item) => {
    const problem = asRecord(item, 'validation.error');
    return {
      field: optionalText(problem, 'field', 'validation.error'),
      message: requiredText(problem, 'message', 'validation.error').replace(/^Value error, /, ''),
    };
  });
  return problems.length > 0 ? problems : [{ field: null, message: 'the server gives no reason' }];
}
