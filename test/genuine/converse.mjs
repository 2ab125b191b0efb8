/**
 * Runs a conversation with @openhands/typescript-client to its end and prints what came of it, as
 * one JSON document with the members of converse.py.
 *
 *   node converse.mjs <node_modules of set-up.mjs> --host URL --message TEXT [--model-url URL]
 *
 * The session key is in the environment variable API_KEY, where no process list shows it.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const BOUND_MS = 300_000;
const POLL_MS = 100;
const CLIENT = '@openhands/typescript-client';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string' },
    message: { type: 'string' },
    'model-url': { type: 'string' },
  },
});
const modules = path.resolve(positionals[0]);
// Outside of a browser the client loads `ws` with `require`, which an ES module does not have.
globalThis.require = createRequire(path.join(modules, 'none.cjs'));
const { Agent, Conversation, RemoteWorkspace } = await import(
  pathToFileURL(globalThis.require.resolve(CLIENT)).href
);

const startedMs = performance.now();
const workspace = new RemoteWorkspace({
  host: values.host,
  workingDir: '.',
  apiKey: process.env.API_KEY,
});
const llm = {
  model: 'openai/gpt-4o',
  api_key: 'none',
  base_url: values['model-url'],
  usage_id: 'agent',
};
const tools = ['terminal', 'file_editor'].map((name) => ({ name, params: {} }));
const conversation = new Conversation(new Agent({ kind: 'Agent', llm, tools }), workspace, {
  onError: (error) => {
    throw error;
  },
});
await conversation.start();
await conversation.startWebSocketClient();
await conversation.sendMessage(values.message);
await conversation.run();
let status = 'running';
while (!['finished', 'error', 'stuck'].includes(status)) {
  if (performance.now() - startedMs > BOUND_MS)
    throw new Error(`the status is ${status} after ${BOUND_MS} ms`);
  await pause(POLL_MS);
  await conversation.state.refresh();
  status = await conversation.state.getExecutionStatus();
}
const seconds = (performance.now() - startedMs) / 1000;
const read = await conversation.state.events.getEvents();
const document = {
  client: JSON.parse(await readFile(path.join(modules, CLIENT, 'package.json'), 'utf8')).version,
  id: conversation.id,
  status,
  events: read.map(({ id, kind, source }) => ({ id, kind, source })),
  seconds: Math.round(seconds * 100) / 100,
};
await conversation.close();
process.stdout.write(JSON.stringify(document));
