/** Another model for a conversation under way (interface section 4.4). */
import { switchAcpModel, switchProfile } from '../../../../protocol/v1/requests.ts';
import { textOf } from '../../../sandboxes/agent-client.ts';
import { json, pathId, readJson, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { readProfiles } from '../../settings/profiles.ts';
import { SandboxUnavailable } from '../../../sandboxes/supervisor.ts';
import { runningSandbox } from './known.ts';
import type { Route } from '../../route.ts';

export function switchRoutes(context: AppContext): Route[] {
  const { store } = context;
  const at = (path: string): string => `/api/v1/app-conversations/{conversation_id}${path}`;
  return [
    {
      method: 'POST',
      path: at('/switch_profile'),
      handle: async (c) => {
        const id = pathId(c);
        const { profile_name: name } = await readJson(c, switchProfile);
        const sandbox = runningSandbox(context, id);
        const profile = readProfiles(store.documents).profiles[name];
        if (profile === undefined) throw refuse(404, `Profile '${name.slice(0, 100)}' not found`);
        const { model } = profile;
        if (typeof model !== 'string') throw refuse(400, `Profile '${name}' names no model`);
        await tellAgent(context, sandbox.id, id, model);
        store.conversations.update(id, { llm_model: model });
        return json({ success: true });
      },
    },
    {
      method: 'POST',
      path: at('/switch_acp_model'),
      handle: async (c) => {
        const id = pathId(c);
        await readJson(c, switchAcpModel);
        runningSandbox(context, id);
        throw refuse(400, 'The agent of this conversation does not speak ACP');
      },
    },
  ];
}

async function tellAgent({ supervisor }: AppContext, sandboxId: string, id: string, model: string): Promise<void> {
  const path = `/api/conversations/${id}/switch_llm`;
  try {
    const answer = await supervisor.send(sandboxId, { method: 'POST', path, json: { llm: { model } } });
    if (answer.status >= 400) throw refuse(502, textOf(answer));
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw refuse(502, error.message);
    throw error;
  }
}
