/** Reasoning: from the parts of an answer, and back into the messages of a request. */
import type { AssistantContent, ProviderMetadata, TextStreamPart, ToolSet } from 'ai';
import type { Reasoning } from '../../base/steps.ts';
import { ModelFailure } from './failure.ts';

/** Encrypted reasoning has about as many characters as the reasoning itself, in 100,000 tokens. */
const LONGEST_SIGNED = 4 * 1024 * 1024;

type ReasoningPart = Extract<Exclude<AssistantContent, string>[number], { type: 'reasoning' }>;

interface Block {
  text: string;
  /** Of Anthropic. */
  signature?: string;
  redactedData?: string;
  /** Of OpenAI Responses, whose items have several blocks. */
  itemId?: string;
  reasoningEncryptedContent?: string | null;
}

export const NO_REASONING: Reasoning = {
  text: '',
  thinking_blocks: [],
  responses_reasoning_item: null,
};

export class ReasoningReader {
  readonly #blocks = new Map<string, Block>();

  read(part: TextStreamPart<ToolSet>): void {
    if (!/^reasoning-/.test(part.type)) return;
    const {
      id,
      text = '',
      providerMetadata,
    } = part as {
      id: string;
      text?: string;
      providerMetadata?: ProviderMetadata;
    };
    const block = this.#blocks.get(id) ?? { text: '' };
    Object.assign(block, providerMetadata?.['anthropic'], providerMetadata?.['openai']);
    block.text += text;
    this.#blocks.set(id, block);
  }

  /** What was read since the last call. */
  take(): Reasoning {
    const blocks = [...this.#blocks.values()];
    this.#blocks.clear();
    if (JSON.stringify(blocks).length > LONGEST_SIGNED)
      throw new ModelFailure('LLMBadResponseError', 'The reasoning is longer than 4 MiB.');
    return {
      text: textsOf(blocks).join('\n\n'),
      thinking_blocks: blocks.flatMap(thinkingOf),
      responses_reasoning_item: itemOf(blocks),
    };
  }
}

function thinkingOf(block: Block): Reasoning['thinking_blocks'] {
  const { text: thinking, signature, redactedData: data } = block;
  if (signature) return [{ type: 'thinking', thinking, signature }];
  return data ? [{ type: 'redacted_thinking', data }] : [];
}

function itemOf(blocks: readonly Block[]): Reasoning['responses_reasoning_item'] {
  const last = blocks.findLast(({ reasoningEncryptedContent: content }) => content);
  const { itemId: id, reasoningEncryptedContent: encrypted_content } = last ?? {};
  if (!id || !encrypted_content) return null;
  const summary = textsOf(blocks.filter(({ itemId }) => itemId === id));
  return { id, summary, encrypted_content };
}

function textsOf(blocks: readonly Block[]): string[] {
  return blocks.map(({ text }) => text).filter((text) => text !== '');
}

/** What the endpoint has signed or encrypted; events of other agents may lack a member. */
export function signedReasoning({
  thinking_blocks: blocks = [],
  responses_reasoning_item: item,
}: Partial<Omit<Reasoning, 'text'>>): ReasoningPart[] {
  const part = (text: string, provider: string, options: Record<string, string>) =>
    ({ type: 'reasoning', text, providerOptions: { [provider]: options } }) as const;
  const thinking = blocks.map((block) =>
    block.type === 'thinking'
      ? part(block.thinking, 'anthropic', { signature: block.signature })
      : part('', 'anthropic', { redactedData: block.data }),
  );
  if (!item?.encrypted_content) return thinking;
  const options = { itemId: item.id, reasoningEncryptedContent: item.encrypted_content };
  const [first = '', ...more] = item.summary;
  return [...thinking, ...[first, ...more].map((text) => part(text, 'openai', options))];
}
