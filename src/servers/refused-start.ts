/** Why a server refused a start, with the flags of the command line instead of the names of members. */
import type { NewConversation } from '../domain/new-conversation.ts';
import { isRecord } from '../protocol/shape.ts';
import { serverText } from './transport/answer.ts';

type Given = keyof NonNullable<NewConversation['given']>;

/** By the member of the request. */
const GIVEN_BY: Readonly<Record<string, Given>> = {
  replay_json: 'replay',
  selected_branch: 'branch',
  mcp_config: 'mcp_config',
  suggested_task: 'suggested_task',
  create_microagent: 'microagent',
};

/** The server's text with the flag and its file in place of the member that is wrong; null when it gives no reason. */
export function refusalText(body: unknown, { given = {}, members }: NewConversation): string | null {
  const text = serverText(body);
  const member = memberOf(body);
  if (text === null || member === null) return text;
  const name = GIVEN_BY[member] ?? (Object.hasOwn(members, member) ? 'members' : null);
  const flag = name === null ? undefined : given[name];
  if (flag === undefined) return text;
  // Of a file with several members the one that is wrong is named.
  return name === 'members' ? `${flag}: ${text}` : `${flag}: ${text.replace(`${member}: `, '')}`;
}

/** The first member of the body that a validation error names; V0 names a replay by its own id. */
function memberOf(body: unknown): string | null {
  if (!isRecord(body)) return null;
  if (typeof body['msg_id'] === 'string' && body['msg_id'].startsWith('REPLAY$')) return 'replay_json';
  const detail: unknown = body['detail'];
  const first: unknown = Array.isArray(detail) ? detail[0] : null;
  const loc: unknown = isRecord(first) ? first['loc'] : null;
  const member: unknown = Array.isArray(loc) ? loc.find((part) => part !== 'body') : null;
  return typeof member === 'string' ? member : null;
}
