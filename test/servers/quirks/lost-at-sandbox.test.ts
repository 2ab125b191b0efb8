import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { followedV1 } from '../support/followed-v1.ts';
import { ID } from '../support/v1-world.ts';

const v1 = followedV1();

describe('following', () => {
  it('ends when the sandbox has lost the conversation, whose record stays without a status', async () => {
    v1.follow();
    await until(() => v1.lines.includes('=running'));
    v1.world.conversations.get(ID)!['execution_status'] = null;
    v1.world.before = ({ path }) =>
      path.startsWith('/agent/') ? { status: 404, json: { detail: 'Conversation not found' } } : null;
    await v1.following.catch(() => undefined);
    expect(v1.lines.at(-1)).toContain('it was deleted there');
  });
});
