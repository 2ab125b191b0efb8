import { it } from 'vitest';
import { readFileSync } from 'node:fs';
import { connect } from '../../src/servers/index.ts';
const clock = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((res, rej) => {
      const t = setTimeout(res, ms);
      signal?.addEventListener(
        'abort',
        () => {
          clearTimeout(t);
          rej(signal.reason);
        },
        { once: true },
      );
    }),
};
it('local', async () => {
  const key = readFileSync('/tmp/acs-srv-data/key', 'utf8').trim();
  const lines: string[] = [];
  const t0 = Date.now();
  const ms = () => `${Date.now() - t0}ms`;
  const log = (l: string) => {
    if (process.env.DEBUG_LOG) console.log(ms(), l.slice(0, 400));
  };
  const server = await connect({
    baseUrl: 'http://127.0.0.1:38771',
    key,
    local: true,
    env: {},
    clock,
    signal: new AbortController().signal,
    mode: 'live',
    log,
    notice: (t) => console.log('NOTICE', t),
  });
  console.log(ms(), server.info);
  const req = {
    api: process.env.API ?? 'auto',
    message: null,
    image_urls: [],
    repository: process.env.REPO ?? null,
    branch: null,
    git_provider: null,
    model: null,
    spec_id: null,
    sandbox_id: null,
    instructions: null,
    mcp_config: null,
    replay: 'demo',
    suggested_task: null,
    microagent: null,
    conversation_id: null,
    secrets: {},
    confirm: null,
  } as never;
  const run = server.conversations.start(req, { signal: new AbortController().signal, until: 'started' });
  let conv;
  for (;;) {
    const n = await run.next();
    if (n.done) {
      conv = n.value;
      break;
    }
    console.log(ms(), n.value);
  }
  console.log(ms(), conv);
  const stop = new AbortController();
  for await (const item of server.conversations.follow(conv.id, { signal: stop.signal })) {
    if (item.type === 'event') console.log(ms(), item.event.source, item.event.kind, item.event.text);
    else if (item.type === 'state') {
      console.log(ms(), '=', item.conversation.status, item.conversation.reason);
      if (['finished', 'failed', 'stuck', 'stopped', 'archived'].includes(item.conversation.status)) break;
    } else console.log(item);
  }
  console.log(ms(), 'RESULT', await server.conversations.result(conv.id));
  const d = await server.conversations.diff(conv.id);
  console.log(ms(), d.changes, d.omissions, new TextDecoder().decode(d.patch).slice(0, 1500));
  console.log(
    ms(),
    (await server.conversations.list({}, null)).items.length,
    await server.conversations.getSettled(conv.id),
  );
  console.log((await server.sandboxes.list(null)).items);
  console.log((await server.specs.list(null)).items);
  console.log(ms(), await server.settings.read());
  await server.close();
  void lines;
}, 60000);
