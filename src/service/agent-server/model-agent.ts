/** The agent with a model, whose libraries are a file of their own: replays do not load it. */
import { isDeepStrictEqual } from 'node:util';
import type { Llm } from '../../protocol/agent-server/requests.ts';
import type { Agent, Situation } from '../agents/agent.ts';
import type { ModelAgent } from '../agents/model/agent.ts';
import { type ModelConfig, renewed } from '../base/model-config.ts';
import type { Step } from '../base/steps.ts';
import type { ModelFailure } from '../agents/model/failure.ts';
import { refuse } from '../http/answer.ts';
import type { Conversation } from './conversation.ts';
import type { LazyMcpClient } from './mcp.ts';

export class LazyModelAgent implements Agent {
  readonly #conversation: Conversation;
  readonly #mcp: LazyMcpClient;
  readonly #llmOfSettings: () => Llm;
  #loaded: Promise<ModelAgent> | null = null;

  constructor(conversation: Conversation, mcp: LazyMcpClient, llmOfSettings: () => Llm) {
    this.#conversation = conversation;
    this.#mcp = mcp;
    this.#llmOfSettings = llmOfSettings;
  }

  #load(): Promise<ModelAgent> {
    this.#loaded ??= import('../agents/model/agent.ts').then(({ ModelAgent }) => {
      return new ModelAgent(() => this.#config(), this.#mcp);
    });
    return this.#loaded;
  }

  /** A conversation with the model of the settings uses them as they are now. */
  renew(): void {
    const { model } = this.#conversation;
    if (model?.of_settings !== true) return;
    const llm = renewed(model.llm, this.#llmOfSettings());
    if (!isDeepStrictEqual(llm, model.llm)) this.#conversation.setModel({ ...model, llm });
  }

  /** With the names of the secrets. */
  #config(): ModelConfig {
    const { model, environment } = this.#conversation;
    if (model === null) return { llm: {}, tools: null, mcp_config: {}, system_prompt: '' };
    const names = Object.keys(environment);
    const secrets =
      names.length === 0
        ? ''
        : `\n\nVariables of the terminal that hold secrets: ${names.join(', ')}.`;
    return { ...model, system_prompt: `${model.system_prompt}${secrets}` };
  }

  /** For a route. Throws a 502 with the reason why there is no answer. */
  async ask<Answer>(ask: (agent: ModelAgent) => Promise<Answer>): Promise<Answer> {
    this.renew();
    const agent = await this.#load();
    return ask(agent).catch((error: unknown) => {
      // Compared by name: the other file of the build has its own copy of the class.
      if (!(error instanceof Error) || error.name !== 'ModelFailure') throw error;
      throw refuse(
        (error as ModelFailure).code === 'NoModel' ? 400 : 502,
        this.#conversation.masked(error.message),
      );
    });
  }

  async next(situation: Situation, signal: AbortSignal): Promise<Step> {
    return (await this.#load()).next(situation, signal);
  }
}
