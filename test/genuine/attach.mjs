/**
 * Attaches @openhands/typescript-client to a conversation of an agent server and prints what it
 * read, as one JSON document with the members of attach.py. Its `stored` has the ids of the first
 * hundred events that were there when the web socket had opened, its `live` those of the events
 * that came over it.
 *
 *   node attach.mjs <node_modules of set-up.mjs> --host URL --id CONVERSATION [--until STATUS] [--send TEXT] [--file TEXT]
 *
 * The session key is in the environment variable SESSION_API_KEY, where no process list shows it.
 * With --until it stays attached until the web socket has brought that status; with --send it sends
 * that message first and starts a run, and a status of before does not count. With --file it
 * uploads a file with that text, prints it with a command there, and downloads it.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const BOUND_MS = 300_000;
const CLIENT = '@openhands/typescript-client';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string' },
    id: { type: 'string' },
    until: { type: 'string' },
    send: { type: 'string' },
    file: { type: 'string' },
  },
});
const modules = path.resolve(positionals[0]);
// Outside of a browser the client loads `ws` with `require`, which an ES module does not have.
globalThis.require = createRequire(path.join(modules, 'none.cjs'));
const { Agent, Conversation, RemoteWorkspace } = await import(
  pathToFileURL(globalThis.require.resolve(CLIENT)).href
);

const live = [];
const arrivals = new EventTarget();
const workspace = new RemoteWorkspace({
  host: values.host,
  workingDir: '.',
  apiKey: process.env.SESSION_API_KEY,
});
const conversation = new Conversation(
  new Agent({ llm: { model: 'openai/gpt-4o', api_key: 'none' } }),
  workspace,
  {
    conversationId: values.id,
    callback: (event) => {
      live.push(event);
      arrivals.dispatchEvent(new Event('arrival'));
    },
    onError: (error) => {
      throw error;
    },
  },
);
await conversation.start();
await conversation.startWebSocketClient();
const signal = AbortSignal.timeout(BOUND_MS);
// The socket is open from its first event on, which holds the state: what was stored before is read
// now.
while (live.length === 0) await once(arrivals, 'arrival', { signal });
const { items } = await conversation.state.events.search({ limit: 100 });
const before = values.send === undefined ? 0 : live.length;
if (values.send !== undefined) {
  await conversation.sendMessage(values.send);
  await conversation.run();
}
while (values.until !== undefined && !live.slice(before).some(isThere))
  await once(arrivals, 'arrival', { signal });
const read = await conversation.state.events.getEvents();
await conversation.state.refresh();
const document = {
  client: JSON.parse(await readFile(path.join(modules, CLIENT, 'package.json'), 'utf8')).version,
  status: await conversation.state.getExecutionStatus(),
  events: read.map(({ id, kind, source }) => ({ id, kind, source })),
  live: live.map(({ id }) => id),
  stored: items.map(({ id }) => id),
  files: values.file === undefined ? undefined : await moveFile(values.file),
};
await conversation.close();
process.stdout.write(JSON.stringify(document));

async function moveFile(text) {
  const folder = (await workspace.executeCommand('pwd')).stdout.trim();
  const there = `${folder}/from the client.txt`;
  const { error = null } = await workspace.fileUpload(text, there);
  const { stdout } = await workspace.executeCommand('cat "from the client.txt"');
  return { errors: [error], printed: stdout, downloaded: await workspace.downloadAsText(there) };
}

function isThere({ kind, key, value }) {
  if (kind !== 'ConversationStateUpdateEvent') return false;
  return (
    (key === 'full_state' ? value.execution_status : key === 'execution_status' && value) ===
    values.until
  );
}
