import { asRecord, optionalText } from '../../protocol/shape.ts';
import { read, type Links } from './links.ts';

export async function storedPatch({ app }: Links, id: string): Promise<string> {
  const answer = await app.request({
    path: `/local/conversations/${id}/changes`,
  });
  return read(answer, (body) => optionalText(asRecord(body, 'changes'), 'patch', 'changes') ?? '');
}
