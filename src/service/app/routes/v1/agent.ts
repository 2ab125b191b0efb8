/** Requests to a run that are passed on to its agent server: messages, and the change of the model (interface 4.4). */
import { sendMessage, switchAcpModel, switchProfile } from '../../../../protocol/v1/requests.ts';
import { json, refuse, SUCCESS } from '../../../http/answer.ts';
import { pathId, readJson } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import { textOf, type AgentAnswer } from '../../../sandboxes/agent-client.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';
import type { AppContext } from '../../context.ts';
import { readProfiles } from '../../settings/profiles.ts';
import { runningSandbox } from './known.ts';

export function agentHandlers({ store, ...context }: AppContext): Handlers<AppRoute> {
  /** @param unreachable the status of the answer when the sandbox cannot be reached */
  const post = async (sandboxId: string, path: string, body: unknown, unreachable: 502 | 503): Promise<AgentAnswer> => {
    try {
      return await context.supervisor.send(sandboxId, { method: 'POST', path, json: body });
    } catch (error) {
      if (error instanceof SandboxUnavailable) throw refuse(unreachable, error.message);
      throw error;
    }
  };
  return {
    'POST /api/v1/app-conversations/{conversation_id}/send-message': async (c) => {
      const id = pathId(c);
      const message = await readJson(c, sendMessage);
      const sandbox = runningSandbox(store, id);
      const answer = await post(sandbox.id, `/api/conversations/${id}/events`, message, 503);
      if (answer.status === 507) throw refuse(507, textOf(answer));
      if (answer.status >= 500) throw refuse(503, `the agent server failed: ${textOf(answer)}`);
      if (answer.status >= 400) throw refuse(answer.status === 409 ? 409 : 502, textOf(answer));
      return json({ success: true, sandbox_status: 'RUNNING', message: null });
    },
    'POST /api/v1/app-conversations/{conversation_id}/switch_profile': async (c) => {
      const id = pathId(c);
      const { profile_name: name } = await readJson(c, switchProfile);
      const sandbox = runningSandbox(store, id);
      const profile = readProfiles(store.documents).profiles[name];
      if (profile === undefined) throw refuse(404, `Profile '${name.slice(0, 100)}' not found`);
      const { model } = profile;
      if (typeof model !== 'string') throw refuse(400, `Profile '${name}' names no model`);
      const answer = await post(sandbox.id, `/api/conversations/${id}/switch_llm`, { llm: { model } }, 502);
      if (answer.status >= 400) throw refuse(502, textOf(answer));
      store.conversations.update(id, { llm_model: model });
      return json(SUCCESS);
    },
    'POST /api/v1/app-conversations/{conversation_id}/switch_acp_model': async (c) => {
      const id = pathId(c);
      await readJson(c, switchAcpModel);
      runningSandbox(store, id);
      throw refuse(400, 'The agent of this conversation does not speak ACP');
    },
  };
}
