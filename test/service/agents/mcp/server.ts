/** An MCP server for tests, with the SDK of its authors. As a program it is one over stdio. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type CallToolResult, CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const text = (shown: string): CallToolResult => ({ content: [{ type: 'text', text: shown }] });
/** A GIF of one pixel. */
export const PICTURE = 'R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=';

const TOOLS: Record<string, (given: Record<string, unknown>) => CallToolResult | Promise<CallToolResult>> = {
  echo: ({ words }) => text(String(words)),
  variables: () => text(JSON.stringify(process.env)),
  picture: () => ({ content: [{ type: 'image', mimeType: 'image/gif', data: PICTURE }] }),
  page: () => ({ content: [{ type: 'resource', resource: { uri: 'file:///page', text: 'of a page' } }] }),
  sound: () => ({ content: [{ type: 'audio', mimeType: 'audio/wav', data: PICTURE }] }),
  long: () => text('x'.repeat(40_000)),
  fail: () => ({ ...text('it is not there'), isError: true }),
  refuse: () => {
    throw new Error('no such page');
  },
  crash: () => process.exit(3),
  hang: () => new Promise(() => undefined),
};

/** @param names of its tools: what is before a colon is what the tool does */
export function createServer(names: readonly string[]): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object' as const, properties: { words: { type: 'string' } }, required: ['words'] };
  const tools = names.map((name) => ({
    name: name.split(':').at(-1) ?? '',
    description: `Does ${name}.`,
    inputSchema,
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const does = names.find((name) => name.split(':').at(-1) === params.name)?.split(':')[0] ?? '';
    return (await TOOLS[does]?.(params.arguments ?? {})) ?? text(`called ${params.name}`);
  });
  return server;
}

if (process.argv[2] === '--stdio') {
  process.stdout.write('this line of a log is not JSON\n');
  void createServer(process.argv.slice(3)).connect(new StdioServerTransport());
}
