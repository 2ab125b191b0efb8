import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { McpClient } from '../agents/mcp/client.ts';
import type { McpTools } from '../agents/model/agent.ts';
import type { McpTool } from '../agents/model/tools.ts';
import type { McpStep } from '../base/steps.ts';
import type { Conversation } from './conversation.ts';
import { textContent } from './events.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import { BoundedText, KEPT_OUTPUT } from './shell.ts';

/** Characters of the images of one result, which each request sends again. */
const MOST_IMAGES = 5_000_000;

type Content =
  | ReturnType<typeof textContent>[number]
  | { cache_prompt: boolean; type: 'image'; image_urls: string[] };

export class LazyMcpClient implements McpTools {
  readonly #conversation: Conversation;
  readonly #sandbox: Sandbox;
  #loaded: Promise<McpClient | null> | null = null;

  constructor(conversation: Conversation, sandbox: Sandbox) {
    this.#conversation = conversation;
    this.#sandbox = sandbox;
  }

  async definitions(signal: AbortSignal): Promise<McpTool[]> {
    return (await (await this.#load())?.definitions(signal)) ?? [];
  }

  async observe(
    { name, data }: McpStep,
    signal: AbortSignal,
  ): Promise<Record<string, unknown> | null> {
    const members = { tool_name: name, kind: 'MCPToolObservation' };
    const masked = (text: string) => this.#conversation.masked(text);
    try {
      const client = await this.#load();
      if (client === null) throw new Error(`There is no tool ${name}.`);
      const result = await client.call(name, data, signal);
      const parts = contentOf(result).map((part) =>
        part.type === 'text' ? { ...part, text: masked(part.text) } : part,
      );
      const content = [...textContent(`[Tool '${name}' executed.]`), ...parts];
      return { content, is_error: result.isError === true, ...members };
    } catch (error) {
      if (signal.aborted) return null;
      const text = `Error calling MCP tool ${name}: ${(error as Error).message}`;
      return { content: textContent(masked(text)), is_error: true, ...members };
    }
  }

  close(): void {
    void this.#loaded?.then((client) => client?.close());
  }

  #load(): Promise<McpClient | null> {
    const { mcp_config: config = {} } = this.#conversation.model ?? {};
    if (Object.keys(config).length === 0) return Promise.resolve(null);
    this.#loaded ??= import('../agents/model/agent.ts').then(async ({ loadMcp }) => {
      const { McpClient } = await loadMcp();
      return new McpClient(config, {
        sandbox: this.#sandbox,
        workingDir: this.#conversation.state.working_dir,
        secrets: () => this.#conversation.environment,
        notice: (text) => this.#conversation.notice(text),
      });
    });
    return this.#loaded;
  }
}

/** Texts and images as openhands-sdk 1.58.0 has them, and the texts of embedded resources. */
function contentOf({ content, structuredContent }: CallToolResult): Content[] {
  if (content.length === 0 && structuredContent !== undefined)
    return textContent(JSON.stringify(structuredContent));
  let size = 0;
  const parts = content.flatMap((block): Content[] => {
    if (block.type === 'text') return textContent(block.text);
    if (block.type === 'resource' && 'text' in block.resource)
      return textContent(block.resource.text);
    if (block.type === 'image' && /^image\/[\w.+-]+$/.test(block.mimeType)) {
      size += block.data.length;
      const url = `data:${block.mimeType};base64,${block.data}`;
      if (size <= MOST_IMAGES) return [{ cache_prompt: false, type: 'image', image_urls: [url] }];
    }
    return textContent(`[A part of the result was left out: ${block.type}.]`);
  });
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (text.length <= KEPT_OUTPUT) return parts;
  const bounded = new BoundedText();
  bounded.push(Buffer.from(text));
  return [...textContent(bounded.end()), ...parts.filter(({ type }) => type === 'image')];
}
