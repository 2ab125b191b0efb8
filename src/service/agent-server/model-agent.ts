/** The agent with a model, whose libraries are a file of their own: replays do not load it. */
import type { Agent, Situation } from '../agents/agent.ts';
import type { ModelAgent } from '../agents/model/agent.ts';
import type { Step } from '../agents/steps.ts';
import type { ModelFailure } from '../agents/model/failure.ts';
import { refuse } from '../http/answer.ts';
import type { Conversation } from './conversation.ts';
import type { McpOnUse } from './mcp.ts';

export class ModelAgentOnUse implements Agent {
  readonly #conversation: Conversation;
  readonly #mcp: McpOnUse;
  #loaded: Promise<ModelAgent> | null = null;

  constructor(conversation: Conversation, mcp: McpOnUse) {
    this.#conversation = conversation;
    this.#mcp = mcp;
  }

  /** Rejects when the file cannot be loaded. */
  load(): Promise<ModelAgent> {
    this.#loaded ??= import('../agents/model/agent.ts').then(({ ModelAgent }) => {
      const none = { llm: {}, tools: null, mcp_config: {}, system_prompt: '' };
      return new ModelAgent(() => this.#conversation.model ?? none, this.#mcp);
    });
    return this.#loaded;
  }

  /** For a route. Throws a 502 with the reason why there is no answer. */
  async ask<Answer>(ask: (agent: ModelAgent) => Promise<Answer>): Promise<Answer> {
    const agent = await this.load();
    return ask(agent).catch((error: unknown) => {
      // By its name: the class is in the other file too.
      if (!(error instanceof Error) || error.name !== 'ModelFailure') throw error;
      throw refuse((error as ModelFailure).code === 'NoModel' ? 400 : 502, this.#conversation.masked(error.message));
    });
  }

  async next(situation: Situation, signal: AbortSignal): Promise<Step> {
    return (await this.load()).next(situation, signal);
  }
}
