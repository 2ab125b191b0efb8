// How long `acs conv events` reads 100,000 events, beside a raw loop over the same pages: it
// fetches each page, parses it and writes its events as lines. Run with a URL, this file is that
// loop. It uses node:http with one kept connection and writes a page at once: the least that Node
// can do with these pages, and the loop that the budget is for. With `fetch` as a second argument
// it is the loop that a script has, over the global fetch; its time is shown only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { AGENT_KEY, EVENTS, ID } from './event-server.mjs';

const own = fileURLToPath(import.meta.url);
const usage = fileURLToPath(new URL('usage.cjs', import.meta.url));

/**
 * What each round took, the two taking turns: `{ wallMs, cpuMs, rssMb }`. Throws when one of them
 * fails or loses an event.
 */
export async function timeEvents(acs, env, rounds) {
  const server = spawn(
    process.execPath,
    [fileURLToPath(new URL('event-server.mjs', import.meta.url))],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const [line] = await once(server.stdout, 'data');
    const url = String(line).trim();
    const times = { raw: [], fetch: [], acs: [] };
    for (let round = 0; round < rounds; round++) {
      times.raw.push(await measure([own, url], env));
      times.fetch.push(await measure([own, url, 'fetch'], env));
      const args = [acs, 'conv', 'events', ID, '--format', 'ndjson'];
      times.acs.push(await measure(args, { ...env, ACS_BASE_URL: url }));
    }
    return times;
  } finally {
    server.kill();
  }
}

async function measure(args, env) {
  const started = performance.now();
  const child = spawn(process.execPath, ['--require', usage, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  let used = '';
  child.stdio[3].on('data', (chunk) => (used += chunk));
  const closed = once(child, 'close');
  let lines = 0;
  for await (const chunk of child.stdout)
    for (let at = -1; (at = chunk.indexOf(10, at + 1)) !== -1;) lines += 1;
  const [status] = await closed;
  const wallMs = performance.now() - started;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  if (lines !== EVENTS) throw new Error(`${args.join(' ')} printed ${lines} events of ${EVENTS}`);
  return { wallMs, ...JSON.parse(used) };
}

async function rawLoop(url, read) {
  for (let page = null; ;) {
    const query = new URLSearchParams({
      sort_order: 'TIMESTAMP',
      limit: '100',
      ...(page && { page_id: page }),
    });
    const { items, next_page_id: next } = await read(
      `${url}/api/conversations/${ID}/events/search?${query}`,
    );
    const lines = items.map((item) => `${JSON.stringify(item)}\n`).join('');
    if (!process.stdout.write(lines)) await once(process.stdout, 'drain');
    if (next === null) break;
    page = next;
  }
}

const headers = { 'x-session-api-key': AGENT_KEY };

async function readByFetch(url) {
  return await (await fetch(url, { headers })).json();
}

function readByHttp(agent, url) {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
    }).on('error', reject);
  });
}

if (process.argv[1] === own) {
  const [, , url, client] = process.argv;
  const agent = new Agent({ keepAlive: true });
  await rawLoop(url, client === 'fetch' ? readByFetch : (page) => readByHttp(agent, page));
  agent.destroy();
}
