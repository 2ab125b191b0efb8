import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { llm as llmForm } from '../../protocol/agent-server/requests.ts';
import type { Agent, Situation } from '../agents/agent.ts';
import type { ModelAgent } from '../agents/model/agent.ts';
import { type ModelConfig, renewed } from '../base/model-config.ts';
import type { Step } from '../base/steps.ts';
import type { ModelAnswer } from '../agents/model/call.ts';
import type { ModelFailure } from '../agents/model/failure.ts';
import { refuse } from '../http/answer.ts';
import { readSettings } from '../settings/settings.ts';
import type { Store } from '../storage/index.ts';
import type { Conversation } from './conversation.ts';
import type { LazyMcpClient } from './mcp.ts';

/** Loads the agent, whose libraries are a file of their own, when it is used. */
export class LazyModelAgent implements Agent {
  readonly #conversation: Conversation;
  readonly #mcp: LazyMcpClient;
  readonly #userStore: () => Pick<Store, 'documents'>;
  #loaded: Promise<ModelAgent> | null = null;

  constructor(
    conversation: Conversation,
    mcp: LazyMcpClient,
    userStore: () => Pick<Store, 'documents'>,
  ) {
    this.#conversation = conversation;
    this.#mcp = mcp;
    this.#userStore = userStore;
  }

  #load(): Promise<ModelAgent> {
    return (this.#loaded ??= import('../agents/model/agent.ts').then(
      ({ ModelAgent }) => new ModelAgent(() => this.#config(), this.#mcp),
    ));
  }

  renew(): void {
    const { model } = this.#conversation;
    if (model?.of_settings !== true) return;
    const { agent } = readSettings(this.#userStore().documents);
    const llm = renewed(model.llm, v.parse(llmForm, agent.llm ?? {}));
    if (!isDeepStrictEqual(llm, model.llm)) this.#conversation.setModel({ ...model, llm });
  }

  #config(): ModelConfig {
    const { model, environment } = this.#conversation;
    if (model === null) throw new Error('The conversation has no model.');
    const names = Object.keys(environment);
    if (names.length === 0) return model;
    const secrets = `Variables of the terminal that hold secrets: ${names.join(', ')}.`;
    return { ...model, system_prompt: `${model.system_prompt}\n\n${secrets}` };
  }

  /** Throws a 502 with the reason why there is no answer, and a 400 without a model. */
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

  async text(ask: (agent: ModelAgent) => Promise<ModelAnswer>): Promise<string> {
    const { text, usage } = await this.ask(ask);
    this.#conversation.record([], this.#conversation.used(usage).change);
    return this.#conversation.masked(text);
  }

  async next(situation: Situation, signal: AbortSignal): Promise<Step> {
    return (await this.#load()).next(situation, signal);
  }
}
