/** An agent with a model: one answer is one step, or several when it calls several tools. */
import type { Agent, Situation } from '../agent.ts';
import type { ModelCall, Step } from '../../base/steps.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import { callModel, type ModelAnswer, type ModelRequest } from './call.ts';
import { condense, type Condensed, LONGEST_HISTORY } from './condense.ts';
import type { ModelConfig } from '../../base/model-config.ts';
import { ModelFailure } from './failure.ts';
import { type Exchange, exchangesOf } from './history.ts';
import { isStuck } from './stuck.ts';
import { offeredTools } from './definitions.ts';
import { type McpTool, stepOf, toolSet } from './tools.ts';
import { cut, wellFormedJson } from '../../../base/text/well-formed.ts';

/** About the average of English text and code. */
const CHARACTERS_OF_TOKEN = 4;
const LONGEST_UNTITLED = 2000;

export interface McpTools {
  definitions(signal: AbortSignal): Promise<McpTool[]>;
}

export const loadMcp = () => import('../mcp/client.ts');

export class ModelAgent implements Agent {
  readonly #config: () => ModelConfig;
  readonly #mcp: McpTools;
  #rest: Step[] = [];

  constructor(config: () => ModelConfig, mcp: McpTools) {
    this.#config = config;
    this.#mcp = mcp;
  }

  async next({ history, onText }: Situation, signal: AbortSignal): Promise<Step> {
    const events = [...history()];
    const next = this.#rest.shift();
    // After a rejection or a message the model is called again.
    if (next !== undefined && isResult(events.at(-1))) return next;
    this.#rest = [];
    if (isStuck(events)) return { type: 'break', status: 'stuck', code: '', detail: '' };
    if (!events.some(({ kind }) => kind === 'MessageEvent')) {
      const detail = 'The conversation has no message. Send one: acs conv send';
      return { type: 'break', status: 'error', code: 'NoMessage', detail };
    }
    try {
      return await this.#ask(exchangesOf(events), isCondensationDue(events), onText, signal);
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      return { type: 'break', status: 'error', code: error.code, detail: error.message };
    }
  }

  /** An answer that does not enter the history. Throws ModelFailure. */
  async answer(
    question: string,
    events: Iterable<StoredEvent>,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const { llm, system_prompt: system, tools } = this.#config();
    const content = `${question}\n\nAnswer this question from what you know by now. Call no tool.`;
    const messages = [
      ...exchangesOf(events).flatMap((each) => each.messages),
      { role: 'user' as const, content },
    ];
    // Some endpoints refuse calls in the history of a request without tools.
    return callModel(
      llm,
      { system, messages, tools: toolSet(offeredTools(tools), []), onText: null },
      signal,
    );
  }

  /** A title for a conversation with this first message. Throws ModelFailure. */
  title(message: string, signal: AbortSignal): Promise<ModelAnswer> {
    const system =
      'Write a title of two to six words for the task that follows. Answer with the title alone.';
    const messages = [{ role: 'user' as const, content: cut(message, LONGEST_UNTITLED) }];
    return callModel(this.#config().llm, { system, messages, tools: {}, onText: null }, signal);
  }

  /** Null: nothing could be forgotten. Throws ModelFailure. */
  condense(events: Iterable<StoredEvent>, signal: AbortSignal): Promise<Condensed | null> {
    return condense(this.#config().llm, exchangesOf(events), 0, signal);
  }

  async #ask(
    exchanges: Exchange[],
    isDue: boolean,
    onText: ModelRequest['onText'],
    signal: AbortSignal,
  ): Promise<Step> {
    const { llm, system_prompt: system, tools: named } = this.#config();
    if (isDue || isLong(exchanges, llm.max_input_tokens ?? Infinity)) {
      const step = await condense(llm, exchanges, 0, signal);
      if (step !== null) return step;
    }
    const mcp = await this.#mcp.definitions(signal);
    const messages = exchanges.flatMap((exchange) => exchange.messages);
    const tools = toolSet(offeredTools(named), mcp);
    try {
      const answer = await callModel(llm, { system, messages, tools, onText }, signal);
      return this.#stepsOf(answer, new Set(mcp.map(({ name }) => name)));
    } catch (error) {
      if (!(error instanceof ModelFailure) || error.code !== 'LLMContextWindowExceedError')
        throw error;
      const step = await condense(llm, exchanges, 1, signal);
      if (step === null) throw error;
      return step;
    }
  }

  #stepsOf({ text, reasoning, calls, usage }: ModelAnswer, mcpTools: ReadonlySet<string>): Step {
    const steps = calls.map((call, index): Step => {
      const isFirst = index === 0;
      const modelCall: ModelCall = {
        response_id: usage.response_id,
        name: call.name,
        arguments:
          typeof call.input === 'string' ? call.input : wellFormedJson(JSON.stringify(call.input)),
        reasoning: isFirst ? reasoning : '',
        signature: call.signature,
      };
      return stepOf(call, isFirst ? text : '', modelCall, mcpTools);
    });
    const [first = { type: 'message', text, ends_turn: true } as const, ...rest] = steps;
    this.#rest = rest;
    return { ...first, usage };
  }
}

function isResult(event: StoredEvent | undefined): boolean {
  return event?.kind === 'ObservationEvent' || event?.kind === 'AgentErrorEvent';
}

function isLong(exchanges: readonly Exchange[], tokens: number): boolean {
  if (exchanges.flatMap(({ ids }) => ids).length > LONGEST_HISTORY) return true;
  if (tokens === Infinity) return false;
  const text = JSON.stringify(exchanges, (key, value: unknown) => (key === 'image' ? '' : value));
  return text.length > tokens * CHARACTERS_OF_TOKEN;
}

function isCondensationDue(events: readonly StoredEvent[]): boolean {
  const newest = events.findLast(
    ({ kind }) => kind === 'CondensationRequest' || kind === 'Condensation',
  );
  return newest?.kind === 'CondensationRequest';
}
