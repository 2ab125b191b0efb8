import { asRecord, optionalText } from '../../protocol/shape.ts';
import { read, type Links } from './links.ts';

/** Throws `not-found` when the workspace is gone. */
export async function storedPatch({ app }: Links, id: string): Promise<string> {
  const answer = await app.request({
    method: 'GET',
    path: `/local/conversations/${id}/changes`,
    safe: 'read',
  });
  return read(answer, (body) => optionalText(asRecord(body, 'changes'), 'patch', 'changes') ?? '');
}
