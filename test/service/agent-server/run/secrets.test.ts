import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  eventsOf,
  ID,
  outputs,
  startConversation,
  startOwnWorker,
  step,
  type OwnWorker,
  untilStatus,
} from '../support/worker.ts';

let worker: OwnWorker;

beforeEach(async () => {
  worker = await startOwnWorker();
});

afterEach(() => worker.close());

describe('secrets of a conversation', () => {
  it('are in the environment of its commands and masked in its events', async () => {
    const secrets = { TOKEN: 'very-secret-value', OTHER: { kind: 'StaticSecret', value: 'another-one' } };
    await startConversation(worker, [step.run('echo "t=$TOKEN o=$OTHER"; echo "$TOKEN" > t.txt'), step.finish()], {
      secrets,
    });
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['t=<secret-hidden> o=<secret-hidden>']);
    expect(JSON.stringify(events)).not.toContain('very-secret-value');
    expect(readFileSync(path.join(worker.place.workspace, 't.txt'), 'utf8')).toBe('very-secret-value\n');
    const { body } = await worker.call('GET', `/api/conversations/${ID}`);
    expect(JSON.stringify(body)).not.toContain('very-secret-value');
    expect(body).toMatchObject({ secret_registry: { secret_sources: { TOKEN: { value: null } } } });
  });
});
