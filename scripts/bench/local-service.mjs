// How long the local service takes from a request to a sandbox that runs, and to a conversation
// that is READY: a service of its own in the background, asked over HTTP, so that no start of a
// command is in the figures.
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';

const TIMEOUT_MS = 30_000;
const POLL_MS = 2;

/**
 * Milliseconds of each round, by what was started. The first round, which fills the disk cache, is
 * not counted.
 * @param acs path of the program
 * @param folder for the data and the HOME of the service; its own
 */
export async function timeLocalService(acs, folder, rounds) {
  const dataDir = path.join(folder, 'data');
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ACS_CONFIG_DIR: path.join(folder, 'config'),
    ACS_DATA_DIR: dataDir,
  };
  const run = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [acs, 'serve', ...args], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0)
      throw new Error(`acs serve ${args.join(' ')} ended with ${status}: ${stderr}`);
    return stdout;
  };
  const { url } = JSON.parse(run('--detach', '--json'));
  try {
    const call = client(url, readFileSync(path.join(dataDir, 'key'), 'utf8').trim());
    const times = { sandbox: [], conversation: [] };
    for (let round = 0; round <= rounds; round++) {
      const sandbox = await timed(() => startSandbox(call));
      const conversation = await timed(() => startConversation(call));
      if (round === 0) continue;
      times.sandbox.push(sandbox);
      times.conversation.push(conversation);
    }
    return times;
  } finally {
    run('--stop');
  }
}

async function timed(start) {
  const started = performance.now();
  const { remove } = await start();
  const elapsedMs = performance.now() - started;
  await remove();
  return elapsedMs;
}

async function startSandbox(call) {
  const { id } = await call('POST', '/api/v1/sandboxes');
  await until(async () => (await call('GET', `/api/v1/sandboxes?id=${id}`))[0].status, 'RUNNING');
  return removalOf(call, id);
}

async function startConversation(call) {
  const { id } = await call('POST', '/api/v1/app-conversations', { replay_json: 'demo' });
  const read = async () =>
    (await call('GET', `/api/v1/app-conversations/start-tasks?ids=${id}`))[0];
  await until(async () => (await read()).status, 'READY');
  return removalOf(call, (await read()).sandbox_id);
}

/** What was started is gone before the next round: it would take part of the machine. */
function removalOf(call, id) {
  return { remove: () => call('DELETE', `/api/v1/sandboxes/${id}?sandbox_id=${id}`) };
}

async function until(read, wanted) {
  const end = performance.now() + TIMEOUT_MS;
  for (;;) {
    const status = await read();
    if (status === wanted) return;
    if (status === 'ERROR' || performance.now() > end)
      throw new Error(`it is ${status} and not ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function client(url, key) {
  const agent = new http.Agent({ keepAlive: true });
  return (method, target, body) =>
    new Promise((resolve, reject) => {
      const headers = { 'X-Session-API-Key': key, 'Content-Type': 'application/json' };
      const request = http.request(url + target, { method, headers, agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(`${method} ${target} answered ${answer.statusCode}: ${text}`));
        });
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
}
