/** The first question of `conv new` on a terminal, where no model is set: what to start instead, or where. */
import type { Context } from '../../context.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { DEMO, readReplay } from './new-files.ts';

/** What to start: a replay, or a message at this server. */
export interface Start {
  server: Server;
  /** As NewConversation has it; null: a message. */
  replay: string | null;
}

const HOW_TO_ADD = 'add one: acs profile add <name> --base-url <url> --api-key-file <file>';

/** Prompts only where the server has the demo and no model, and so would refuse every message. Throws `config` without a profile. */
export async function chooseStart(ctx: Context, server: Server): Promise<Start> {
  if (server.presence('demo-replay') !== 'present' || (await hasModel(server))) return { server, replay: null };
  const prompt = await ctx.prompt();
  const answer = await prompt.select({
    message: 'The local service has no model, so no agent can answer a message. What should be started?',
    choices: [
      { value: 'demo', name: 'the demo', description: 'the built-in recorded run' },
      { value: 'replay', name: 'a replay file', description: 'a recorded run of your own' },
      { value: 'profile', name: 'a conversation on another server', description: 'one of your server profiles' },
    ] as const,
  });
  if (answer === 'demo') return { server, replay: DEMO };
  if (answer === 'replay') return { server, replay: await askForReplay(ctx) };
  return { server: await askForProfile(ctx), replay: null };
}

async function hasModel(server: Server): Promise<boolean> {
  const { values } = await server.settings.read();
  return typeof values['llm_model'] === 'string' && values['llm_model'] !== '';
}

async function askForReplay(ctx: Context): Promise<string> {
  const prompt = await ctx.prompt();
  const file = await prompt.input({
    message: 'Replay file',
    validate: async (value) => {
      if (value.trim() === '') return 'a file is needed';
      return await readReplay(ctx, value.trim()).then(() => true as const, problemOf);
    },
  });
  return await readReplay(ctx, file.trim());
}

function problemOf(error: unknown): string {
  if (isAppError(error)) return error.message;
  throw error;
}

async function askForProfile(ctx: Context): Promise<Server> {
  const profiles = await (await ctx.profiles()).list();
  if (profiles.length === 0) throw new AppError('config', 'no server profile is stored', { hint: HOW_TO_ADD });
  const prompt = await ctx.prompt();
  const name = await prompt.select({
    message: 'Server',
    choices: profiles.map((profile) => ({ value: profile.name, name: profile.name, description: profile.base_url })),
  });
  const { baseUrl: _baseUrl, apiKeyFile: _apiKeyFile, ...globals } = ctx.globals;
  ctx.globals = { ...globals, profile: name };
  const [chosen] = await ctx.servers();
  if (chosen === undefined) throw new AppError('internal', `profile ${name} has no server`);
  return await chosen.server;
}
