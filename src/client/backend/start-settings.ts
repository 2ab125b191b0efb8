/** The settings of a start: the server applies its own to no conversation by itself. */
import { AppError } from '../../base/errors.ts';
import { serversByName } from '../../domain/mcp-config.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { isRecord, member } from '../../protocol/shape.ts';
import { POLICIES } from '../agent-server/message.ts';
import type { Links } from '../shared/links.ts';
import { listIn } from '../shared/nested-settings.ts';
import { agentSettingsOf, readEncrypted } from './settings.ts';

type Members = Record<string, unknown>;

/** Members by which `--body` chooses an agent: the settings are not read then. */
const AGENTS = ['agent', 'agent_settings', 'agent_profile_id'];

export async function startSettings(links: Links, request: NewConversation): Promise<Members> {
  const { instructions, confirm, body, model, mcp_config } = request;
  const agent = AGENTS.find((name) => name in body);
  const policy = confirm === null ? {} : policyMembers(confirm);
  if (agent !== undefined) {
    if (model !== null || mcp_config !== null)
      throw new AppError(
        'usage',
        `--${model === null ? 'mcp-config' : 'model'} and ${agent} of --body cannot be combined`,
      );
    const additions = { system_message_suffix_append: instructions };
    return { ...policy, ...(instructions !== null && { agent_launch_additions: additions }) };
  }
  const { body: settings } = await readEncrypted(links, '/api/settings');
  const stored = agentSettingsOf(settings);
  const agent_settings = await withFlags(links, stored, request);
  if (model === null) await refuseWithoutModel(links, stored);
  return {
    agent_settings,
    // A server without a secret key refuses it; such a server has no secret in these settings.
    secrets_encrypted: JSON.stringify(agent_settings).includes(`"${CIPHERTEXT}`),
    ...conversationMembers(member(settings, 'conversation_settings')),
    ...policy,
  };
}

const CIPHERTEXT = 'gAAAA';

async function withFlags(
  links: Links,
  stored: Members,
  { model, instructions, mcp_config }: NewConversation,
): Promise<Members> {
  const settings = { ...stored };
  if (model !== null) {
    if (stored['agent_kind'] === 'acp')
      throw new AppError('unsupported', 'the agent of this server chooses its model: no --model');
    settings['llm'] = await modelNamed(links, model, stored['llm']);
  }
  if (mcp_config !== null) settings['mcp_config'] = serversByName(mcp_config);
  if (instructions !== null) {
    const context = isRecord(stored['agent_context']) ? stored['agent_context'] : {};
    const suffix = [context['system_message_suffix'], instructions].filter(Boolean).join('\n\n');
    settings['agent_context'] = { ...context, system_message_suffix: suffix };
  }
  return settings;
}

/** The model of a profile, else the current one under this name. */
async function modelNamed(links: Links, name: string, llm: unknown): Promise<unknown> {
  const changed = { ...(isRecord(llm) ? llm : {}), model: name };
  // No profile has a slash in its name.
  if (name.includes('/')) return changed;
  const path = `/api/profiles/${encodeURIComponent(name)}`;
  const { status, body } = await readEncrypted(links, path, {
    accept: [400, 404, 422],
    mayBeMissing: true,
  });
  const config = member(body, 'config');
  return status === 200 && isRecord(config) ? config : changed;
}

/** Throws `config` for a server as it is installed. */
async function refuseWithoutModel(links: Links, { agent_kind, llm }: Members): Promise<void> {
  if (agent_kind === 'acp' || !isRecord(llm) || GIVES_ACCESS.some((name) => llm[name])) return;
  if (llm['auth_type'] === 'subscription') return;
  const { model } = llm;
  // The key of another model may be in the environment of the server.
  if (model && model !== (await defaultModel(links))) return;
  throw new AppError('config', 'the server has no model', {
    hint:
      'set a model: acs settings set llm_model=… llm_base_url=… llm_api_key=-\n' +
      'or use a model profile: acs settings profile use <name>',
    data: { reason: 'no-model' },
  });
}

const GIVES_ACCESS = [
  'api_key',
  'base_url',
  'provider_connection_id',
  'aws_access_key_id',
  'aws_profile_name',
  'aws_role_name',
  'ollama_base_url',
];

async function defaultModel(links: Links): Promise<unknown> {
  const { body } = await links.app.request({ path: '/api/settings/agent-schema' });
  const fields = listIn(body, 'sections').flatMap((section) => listIn(section, 'fields'));
  return member(
    fields.find((field) => member(field, 'key') === 'llm.model'),
    'default',
  );
}

function conversationMembers(settings: unknown): Members {
  if (!isRecord(settings)) return {};
  const { max_iterations, confirmation_mode, security_analyzer } = settings;
  const isByRisk = security_analyzer === 'llm';
  const policy = isByRisk ? 'risky' : 'always';
  return {
    ...(typeof max_iterations === 'number' && { max_iterations }),
    ...(confirmation_mode === true && policyMembers(policy)),
  };
}

/** Without an analyzer every action counts as risky. */
function policyMembers(confirm: keyof typeof POLICIES): Members {
  const policy = { confirmation_policy: { kind: POLICIES[confirm] } };
  if (confirm !== 'risky') return policy;
  return { ...policy, security_analyzer: { kind: 'LLMSecurityAnalyzer' } };
}
