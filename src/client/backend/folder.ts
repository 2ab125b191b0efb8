/** The folder of a conversation on the machine of the server (interface 14.2). */
import { dashedId, normalId } from '../../domain/ids.ts';
import { member } from '../../protocol/shape.ts';
import type { AgentConversationRecord } from '../../protocol/agent-server/records.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { parseTime } from '../../base/text/time.ts';
import type { CallOptions } from '../http/call.ts';
import type { Transport } from '../http/transport.ts';
import type { Links } from '../shared/links.ts';
import { getRecord, pathOf } from './calls.ts';
import { tagOf } from './records.ts';

export interface ConversationFolder {
  id: string;
  /** A relative one begins at the working directory of the server. */
  folder: string;
  /** The folder that was made for this conversation, of which `folder` may be a part, or null. */
  own: string | null;
  /** The branch that a start makes for a worktree. */
  branch: string;
  /** The checkout that `own` is a worktree of; null where the record does not name it. */
  checkout: string | null;
  base: string | null;
  startedMs: number | null;
}

/** Of the records that a command has read, by id: what is in here does not change. */
export type Folders = Map<string, ConversationFolder>;

export async function folderOf(
  links: Links,
  known: Folders,
  id: string,
): Promise<ConversationFolder> {
  return known.get(normalId(id)) ?? readFolder(await getRecord(links, id));
}

export function readFolder(record: AgentConversationRecord): ConversationFolder {
  const id = normalId(record.id);
  const dashed = dashedId(id);
  const folder = record.working_dir ?? '.';
  // The server itself and acs make `<somewhere>/<id>/<name>`.
  const made = folder.lastIndexOf(`/${dashed}/`);
  const name = folder.slice(made + dashed.length + 2).replace(/\/.*/, '');
  return {
    id,
    folder,
    own: made === -1 || name === '' ? null : `${folder.slice(0, made)}/${dashed}/${name}`,
    branch: `openhands/${dashed}`,
    checkout: tagOf(record, 'checkout') ?? originalOf(record),
    base: tagOf(record, 'base'),
    startedMs: parseTime(record.created_at),
  };
}

/** Of a worktree that the server has made, only the instructions of the agent name the checkout. */
function originalOf({ payload: { agent } }: AgentConversationRecord): string | null {
  const text = String(member(agent, 'agent_context', 'system_message_suffix'));
  return /^- Original workspace: (\/.*)$/m.exec(text)?.[1] ?? null;
}

/**
 * The routes of commands and files take any path of the machine. Those below the conversation take
 * paths in its folder alone: they are for servers that run conversations in containers.
 */
export function routesOf(links: Links, id: string): Pick<Transport, 'request'> {
  if (links.facts.features['conversation-containers'] !== 'present') return links.app;
  const below = (path: string) => path.replace(/^\/api(?=\/(?:bash|file)\/)/, pathOf(id));
  return {
    request: (call: CallOptions) => links.app.request({ ...call, path: below(call.path) }),
  };
}

export function shellVariables(variables: Readonly<Record<string, string | null>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${shellQuote(value ?? '')}`)
    .join('\n');
}
