/** What Node itself writes to stderr, in a process with many requests at once. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { finish, ID, KEY, status, userMessage, v1Server } from '../client/support/v1-server.ts';
import { startFake } from '../support/server.ts';
import { start } from './processes.ts';

it('each line on stderr is a JSON object with --json, warnings of Node included', async () => {
  const pem = (name: string): Buffer =>
    readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const v1 = v1Server(() => fake.url);
  const fake = await startFake((asked) => v1.handler(asked), {
    key: pem('key'),
    cert: pem('valid'),
  });
  const home = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  try {
    const ids = Array.from(
      { length: 24 },
      (_, index) => String(index).padStart(2, '0') + ID.slice(2),
    );
    for (const id of ids) v1.addConversation({ id, execution_status: 'finished' });
    v1.appEvents = v1.agentEvents = [userMessage('go'), finish('done'), status('finished')];
    // Node warns about this variable at the first connection.
    const env = {
      ACS_BASE_URL: fake.url,
      ACS_API_KEY: KEY,
      HOME: home,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      ACS_RATE: '1000',
    };
    const { code, err } = await start(['conv', 'wait', ...ids, '--json'], { env, cwd: home }).ended;
    expect(code, err).toBe(0);
    const lines = err.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        level: 'warning',
        notice: expect.stringContaining('NODE_TLS_REJECT_UNAUTHORIZED') as string,
      },
    ]);
  } finally {
    await fake.close();
    await rm(home, { recursive: true, force: true });
  }
});
