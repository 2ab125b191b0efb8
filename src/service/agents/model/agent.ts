/** An agent with a model: one answer is one step, or several when it calls several tools. */
import type { ModelMessage } from 'ai';
import type { Agent, Situation } from '../agent.ts';
import type { ModelCall, Step } from '../../base/steps.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import { askForText, callModel, type ModelAnswer, type ModelRequest } from './call.ts';
import { condense, type Condensed, isCondenserOff, isLong } from './condense.ts';
import type { ModelConfig } from '../../base/model-config.ts';
import { ContextLimits } from './context.ts';
import { ModelFailure } from './failure.ts';
import { exchangesOf, isRequest } from './history.ts';
import { NO_REASONING } from './reasoning.ts';
import { argumentsOf, toolNameOf } from './repair.ts';
import { isStuck } from './stuck.ts';
import { callsInText, futileAnswer } from './text-calls.ts';
import { offeredTools } from './definitions.ts';
import { type McpTool, stepOf, toolSet } from './tools.ts';
import { cut, wellFormedJson } from '../../../base/text/well-formed.ts';

const LONGEST_UNTITLED = 2000;
/** A request is much longer than another with this factor and these characters more. */
const LONGER = 1.1;
const LONGER_CHARACTERS = 2000;
/** Answers in a row that have no call and end no turn, after which the run ends. */
const MOST_FUTILE = 3;
const RAISE = 'Raise agent_settings.llm.max_output_tokens, or the context of the endpoint.';

export interface McpTools {
  definitions(signal: AbortSignal): Promise<McpTool[]>;
}

export const loadMcp = () => import('../mcp/client.ts');

export class ModelAgent implements Agent {
  readonly #config: () => ModelConfig;
  readonly #mcp: McpTools;
  readonly #limits = new ContextLimits();
  #rest: Step[] = [];
  /** Of the last request that the endpoint accepted. */
  #accepted: readonly ModelMessage[] | null = null;

  constructor(config: () => ModelConfig, mcp: McpTools) {
    this.#config = config;
    this.#mcp = mcp;
  }

  async next({ history, onText }: Situation, signal: AbortSignal): Promise<Step> {
    const events = [...history()];
    const next = this.#rest.shift();
    // After a rejection or a message the model is called again.
    const last = events.at(-1)?.kind;
    if (next && (last === 'ObservationEvent' || last === 'AgentErrorEvent')) return next;
    this.#rest = [];
    if (isStuck(events)) return { type: 'break', status: 'stuck', code: '', detail: '' };
    if (!events.some(({ kind }) => kind === 'MessageEvent')) {
      const detail = 'The conversation has no message. Send one: acs conv send';
      return { type: 'break', status: 'error', code: 'NoMessage', detail };
    }
    try {
      return await this.#ask(events, onText, signal);
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      return { type: 'break', status: 'error', code: error.code, detail: error.message };
    }
  }

  async answer(
    question: string,
    events: Iterable<StoredEvent>,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const { llm, system_prompt: system, tools } = this.#config();
    const content = `${question}\n\nAnswer this question from what you know by now. Call no tool.`;
    const messages = [
      ...exchangesOf(events, llm.max_message_chars).flatMap((each) => each.messages),
      { role: 'user' as const, content },
    ];
    // Some endpoints refuse calls in the history of a request without tools.
    return askForText(llm, { system, messages, tools: toolSet(offeredTools(tools), []) }, signal);
  }

  title(message: string, signal: AbortSignal): Promise<ModelAnswer> {
    const system =
      'Write a title of two to six words for the task that follows. Answer with the title alone.';
    const messages = [{ role: 'user' as const, content: cut(message, LONGEST_UNTITLED) }];
    return askForText(this.#config().llm, { system, messages, tools: {} }, signal);
  }

  /** Null: nothing could be forgotten. Throws ModelFailure. */
  condense(events: Iterable<StoredEvent>, signal: AbortSignal): Promise<Condensed | null> {
    const config = this.#config();
    return condense(config, exchangesOf(events, config.llm.max_message_chars), 0, signal);
  }

  async #ask(
    events: readonly StoredEvent[],
    onText: ModelRequest['onText'],
    signal: AbortSignal,
  ): Promise<Step> {
    const config = this.#config();
    const { llm, system_prompt: system, tools: named } = config;
    const room = await this.#limits.room(llm, signal);
    // A quarter of the history: a token has about four characters.
    const exchanges = exchangesOf(events, Math.min(llm.max_message_chars ?? Infinity, room));
    if (isCondensationDue(events) || isLong(config, exchanges, room)) {
      const step = await condense(config, exchanges, 0, signal);
      if (step !== null) return step;
    }
    const mcp = await this.#mcp.definitions(signal);
    const messages = exchanges.flatMap((exchange) => exchange.messages);
    const tools = toolSet(offeredTools(named), mcp);
    try {
      const answer = await callModel(llm, { system, messages, tools, onText }, signal);
      this.#accepted = messages;
      const offered = {
        all: new Set(Object.keys(tools)),
        mcp: new Map(mcp.map((each) => [each.name, each])),
      };
      return this.#stepsOf(withTextCalls(answer, offered.all), offered, futileAnswers(events));
    } catch (error) {
      if (!(error instanceof ModelFailure) || !this.#isTooLong(error, messages)) throw error;
      this.#limits.learn(llm, error);
      if (isCondenserOff(config)) throw error;
      const step = await condense(config, exchanges, 1, signal);
      if (step === null) throw error;
      return step;
    }
  }

  /** Messages of endpoints differ: also a refusal of a request that has grown counts. */
  #isTooLong({ code, mayBeLength }: ModelFailure, messages: readonly ModelMessage[]): boolean {
    if (code === 'LLMContextWindowExceedError') return true;
    if (!mayBeLength || this.#accepted === null) return false;
    const [accepted = 0, refused = 0] = [this.#accepted, messages].map(
      (list) => JSON.stringify(list).length,
    );
    return refused > accepted * LONGER + LONGER_CHARACTERS;
  }

  #stepsOf(answer: ModelAnswer, offered: Offered, futileBefore: number): Step {
    const { text, calls, usage } = answer;
    const steps = calls.map((call, index): Step => {
      const isFirst = index === 0;
      const name = toolNameOf(call.name, offered.all);
      const input = argumentsOf(call.input) ?? call.input;
      const modelCall: ModelCall = {
        response_id: usage.response_id,
        name,
        arguments: typeof input === 'string' ? input : wellFormedJson(JSON.stringify(input)),
        reasoning: call.reasoning,
        signature: call.signature,
      };
      return stepOf({ name, input }, isFirst ? text : '', modelCall, offered.mcp);
    });
    const [first = this.#withoutCall(answer, futileBefore), ...rest] = steps;
    this.#rest = rest;
    return { ...first, usage };
  }

  #withoutCall(answer: ModelAnswer, futileBefore: number): Step {
    const { text, reasoning } = answer;
    const futile = futileAnswer({ ...answer, reasoning: reasoning.text });
    if (futile === null) return { type: 'message', text, ends_turn: true, reasoning };
    if (futileBefore + 1 < MOST_FUTILE)
      return { type: 'retry', text, request: futile.request, reasoning };
    const { model = '' } = this.#config().llm;
    const what = `The model ${model} ${futile.cause}, ${String(MOST_FUTILE)} times in a row`;
    const next = answer.isCutOff ? RAISE : 'Use another model.';
    const code = answer.isCutOff ? 'LLMBadResponseError' : 'LLMNoResponseError';
    return { type: 'break', status: 'error', code, detail: `${what}. ${next}` };
  }
}

interface Offered {
  all: ReadonlySet<string>;
  mcp: ReadonlyMap<string, McpTool>;
}

function withTextCalls(answer: ModelAnswer, offered: ReadonlySet<string>): ModelAnswer {
  if (answer.calls.length > 0 || answer.isCutOff) return answer;
  const found = callsInText(answer.text, offered);
  if (found === null) return answer;
  const calls = found.calls.map((call, index) => {
    const reasoning = index === 0 ? answer.reasoning : NO_REASONING;
    return { ...call, signature: null, reasoning };
  });
  return { ...answer, text: found.before, calls };
}

/** How many of the newest answers had no call and ended no turn. */
function futileAnswers(events: readonly StoredEvent[]): number {
  const since = events.findLastIndex(
    ({ kind, source }) => kind === 'ActionEvent' || (kind === 'MessageEvent' && source === 'user'),
  );
  return events.slice(since + 1).filter(isRequest).length;
}

function isCondensationDue(events: readonly StoredEvent[]): boolean {
  const newest = events.findLast(
    ({ kind }) => kind === 'CondensationRequest' || kind === 'Condensation',
  );
  return newest?.kind === 'CondensationRequest';
}
