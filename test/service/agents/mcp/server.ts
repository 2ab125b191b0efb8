/** An MCP server for tests, with the SDK of its authors. As a program it is one over stdio. */
import { rmSync, writeFileSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  type CallToolResult,
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const text = (shown: string): CallToolResult => ({ content: [{ type: 'text', text: shown }] });
/** A GIF of one pixel. */
export const PICTURE = 'R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=';

const TOOLS: Record<
  string,
  (given: Record<string, unknown>) => CallToolResult | Promise<CallToolResult>
> = {
  echo: ({ words }) => text(String(words)),
  variables: () => text(JSON.stringify(process.env)),
  picture: () => ({ content: [{ type: 'image', mimeType: 'image/gif', data: PICTURE }] }),
  page: () => ({
    content: [{ type: 'resource', resource: { uri: 'file:///page', text: 'of a page' } }],
  }),
  sound: () => ({ content: [{ type: 'audio', mimeType: 'audio/wav', data: PICTURE }] }),
  rows: () => ({ content: [], structuredContent: { rows: 2 } }),
  rated: ({ security_risk: rating }) => text(`rated ${String(rating)}`),
  long: () => text('x'.repeat(40_000)),
  fail: () => ({ ...text('it is not there'), isError: true }),
  refuse: () => {
    throw new Error('no such page');
  },
  crash: () => process.exit(3),
  hang: () => new Promise(() => undefined),
  count: () => text(String((calls += 1))),
  lock: () => {
    writeFileSync('locked', '', { flag: 'wx' });
    process.stdin.once('end', () => setTimeout(rmSync, 500, 'locked'));
    return text('locked');
  },
  log: () => {
    setInterval(() => process.stderr.write('a line of a log\n'.repeat(10_000)), 1);
    return text('it logs');
  },
};
let calls = 0;

/** Sends messages that nobody has asked for until the connection ends. */
function flood(server: Server): void {
  const send = (): void => {
    server.sendLoggingMessage({ level: 'info', data: 'x' }).then(() => setImmediate(send), ignore);
  };
  for (let at = 0; at < 100; at += 1) send();
}

function ignore(): void {
  // The connection has ended.
}

/** @param names of its tools: what is before a colon is what the tool does */
export function createServer(names: readonly string[]): Server {
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: { tools: {}, logging: {} } },
  );
  const properties: Record<string, Record<string, object | boolean>> = {
    // Valid JSON Schema, which the SDK refuses.
    odd: { any: true },
    rated: { security_risk: { type: 'string' } },
  };
  const tools = names.map((name) => ({
    name: name.split(':').at(-1) ?? '',
    description: `Does ${name}.`,
    inputSchema: {
      type: 'object' as const,
      properties: properties[name] ?? { words: { type: 'string' } },
    },
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const does = names.find((name) => name.split(':').at(-1) === params.name)?.split(':')[0] ?? '';
    if (does === 'flood') setTimeout(flood, 100, server);
    return (await TOOLS[does]?.(params.arguments ?? {})) ?? text(`called ${params.name}`);
  });
  return server;
}

if (process.argv[2] === '--stdio') {
  process.stdout.write('this line of a log is not JSON\n');
  void createServer(process.argv.slice(3)).connect(new StdioServerTransport());
}
