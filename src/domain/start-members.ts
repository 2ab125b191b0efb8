/**
 * Members of a V1 start for which `conv new` has no flag (interface 4.1): they come from a file. Types are checked
 * here, because servers answer 500 or a start that never ends to some wrong ones.
 */
import { normalizeId } from './ids.ts';
import type { JsonValue } from './settings.ts';

export type StartMembers = Readonly<Record<string, JsonValue>>;

type Check = (value: JsonValue) => string | null;

const TRIGGERS = [
  'resolver',
  'gui',
  'suggested_task',
  'openhands_api',
  'slack',
  'microagent_management',
  'jira',
  'jira_dc',
  'linear',
  'bitbucket',
  'automation',
];
const PLUGIN_MEMBERS = ['source', 'ref', 'repo_path', 'parameters'];

const isText = (value: JsonValue | undefined): boolean => typeof value === 'string' && value !== '';
const isObject = (value: JsonValue | undefined): value is { [name: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const must = (holds: boolean, what: string): string | null => (holds ? null : `must be ${what}`);
const isListOf = (value: JsonValue, holds: (item: JsonValue) => boolean): boolean =>
  Array.isArray(value) && value.every(holds);

const CHECKS: Readonly<Record<string, Check>> = {
  agent_type: (value) => must(value === 'default' || value === 'plan', 'default or plan'),
  agent_profile_id: (value) => must(isText(value), 'a text'),
  parent_conversation_id: (value) =>
    must(typeof value === 'string' && normalizeId(value) !== null, 'the whole id of a conversation'),
  plugins: (value) =>
    must(isListOf(value, isPlugin), `a list of {"source"} with ref, repo_path and parameters where needed`),
  processors: (value) =>
    must(
      isListOf(value, (item) => isObject(item) && isText(item['kind'])),
      'a list of {"kind",…}',
    ),
  public: (value) => must(typeof value === 'boolean', 'true or false'),
  pr_number: (value) => must(isListOf(value, Number.isSafeInteger), 'a list of whole numbers'),
  trigger: (value) => must(TRIGGERS.includes(String(value)), `one of ${TRIGGERS.join(', ')}`),
  observability_metadata: (value) => must(isObject(value), 'an object'),
  observability_tags: (value) => must(isListOf(value, isText), 'a list of texts'),
  observability_span_name: (value) => must(isText(value), 'a text'),
};

/** Members that a flag of `conv new` gives. */
export const MEMBER_FLAGS: Readonly<Record<string, string>> = {
  confirmation_policy: '--confirm',
  conversation_id: '--id',
  git_provider: '--git-provider',
  initial_message: 'the message',
  llm_model: '--model',
  replay_json: '--replay',
  sandbox_id: '--sandbox',
  secrets: '--secret',
  selected_branch: '--branch',
  selected_repository: '--repo',
  suggested_task: '--suggested-task',
  system_message_suffix: '--instructions',
  title: '--title',
};

export const START_MEMBERS: readonly string[] = Object.keys(CHECKS);

/** What is wrong with the members, in words that follow the name of their file; null when they may be sent. */
export function checkStartMembers(value: JsonValue): string | null {
  if (!isObject(value)) return 'must hold one JSON object';
  for (const [name, member] of Object.entries(value)) {
    const flag = Object.hasOwn(MEMBER_FLAGS, name) ? MEMBER_FLAGS[name] : undefined;
    if (flag !== undefined) return `holds ${name}, which is given by ${flag}`;
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    if (check === undefined) return `holds ${name.slice(0, 50)}, which is none of ${START_MEMBERS.join(', ')}`;
    const problem = check(member);
    if (problem !== null) return `is wrong: ${name} ${problem}`;
  }
  return null;
}

function isPlugin(value: JsonValue): boolean {
  if (!isObject(value) || !isText(value['source'])) return false;
  const { ref = null, repo_path: place = null, parameters = null } = value;
  const fits = (ref === null || isText(ref)) && (place === null || isText(place));
  return (
    fits &&
    (parameters === null || isObject(parameters)) &&
    Object.keys(value).every((name) => PLUGIN_MEMBERS.includes(name))
  );
}
