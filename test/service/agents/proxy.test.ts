import { createServer } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startModel } from '../../genuine/model.ts';
import { sandboxOfTest } from '../agent-server/support/shared-sandboxes.ts';
import { ID } from '../agent-server/support/worker.ts';

const sandbox = sandboxOfTest();

it('a model elsewhere is called through the proxy of the environment, one on loopback without it', async () => {
  const model = await startModel('/nowhere');
  const asked: (string | undefined)[] = [];
  const tunnels: net.Socket[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(request.url);
    const tunnel = net.connect(Number(new URL(model.url).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      tunnel.pipe(socket).pipe(tunnel);
    });
    for (const each of [tunnel, socket]) each.on('error', () => undefined);
    tunnels.push(tunnel);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const HTTP_PROXY = `http://127.0.0.1:${String((proxy.address() as AddressInfo).port)}`;
    const worker = await sandbox.start({ env: { HTTP_PROXY, NO_PROXY: '' } });
    const run = async (base_url: string): Promise<void> => {
      await worker.startConversation(null, {
        initial_message: { role: 'user', content: [{ type: 'text', text: 'PLAIN' }], run: true },
        agent: { llm: { model: 'openai/gpt-4o', base_url, num_retries: 0 } },
      });
    };
    await run('http://model.example/v1');
    await worker.untilStatus('finished');
    expect(asked).toEqual(['model.example:80']);
    await worker.call('DELETE', `/api/conversations/${ID}`);
    await run(model.url);
    await worker.untilStatus('finished');
    expect(asked).toHaveLength(1);
  } finally {
    for (const tunnel of tunnels) tunnel.destroy();
    proxy.close();
    await model.close();
  }
});
