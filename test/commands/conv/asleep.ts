import type { World } from '../../support/world.ts';
import { json } from './support.ts';

/** Stops what the conversation runs in: its sandbox, or over V0 the conversation itself. */
export async function putToSleep(world: World, id: string): Promise<void> {
  const { sandbox_id: sandbox } = json(await world.acs('conv', 'show', id, '--json'));
  if (sandbox !== null) {
    await world.acs('sandbox', 'pause', sandbox);
    return;
  }
  const headers = { 'x-session-api-key': world.service.key };
  const answer = await fetch(`${world.service.url}/api/conversations/${id}/stop`, { method: 'POST', headers });
  if (!answer.ok) throw new Error(`the stop ended with ${answer.status}`);
}
