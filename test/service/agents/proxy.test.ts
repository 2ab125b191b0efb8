import { expect, it } from 'vitest';
import { startModel } from '../../genuine/model.ts';
import { startProxy, untilTestEnds } from '../../support/server.ts';
import { sandboxOfTest } from '../agent-server/support/shared-sandboxes.ts';
import { ID } from '../agent-server/support/worker.ts';

const sandbox = sandboxOfTest();

it('a model elsewhere is called through the proxy of the environment, one on loopback without it', async () => {
  const model = await untilTestEnds(startModel('/nowhere'));
  const proxy = await untilTestEnds(startProxy({ to: () => model.url }));
  const worker = await sandbox.start({ env: { HTTP_PROXY: proxy.url, NO_PROXY: '' } });
  const run = async (base_url: string): Promise<void> => {
    await worker.startConversation(null, {
      initial_message: { role: 'user', content: [{ type: 'text', text: 'PLAIN' }], run: true },
      agent: { llm: { model: 'openai/gpt-4o', base_url, num_retries: 0 } },
    });
  };
  await run('http://model.example/v1');
  await worker.untilStatus('finished');
  expect(proxy.asked.map(({ url }) => url)).toEqual(['model.example:80']);
  await worker.call('DELETE', `/api/conversations/${ID}`);
  await run(model.url);
  await worker.untilStatus('finished');
  expect(proxy.asked).toHaveLength(1);
});
