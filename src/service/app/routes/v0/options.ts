/** Lists of options, and the routes that would ask a git provider (interface sections 2.3 and 3.5). */
import type { Context } from 'hono';
import { record, text } from '../../../../protocol/detail.ts';
import { HttpAnswer, json, readQuery } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import type { Forgejo } from '../../repositories/forgejo.ts';
import { FrontMatterError, microagentContent, microagentsOf } from '../../microagents.ts';
import { knownModels } from '../../settings/models.ts';
import { connectedForgejo } from '../../settings/providers.ts';
import { answered } from '../providers.ts';
import type { Route } from '../../route.ts';

export function optionRoutes(context: AppContext): Route[] {
  const { store } = context;
  const get = (path: string, body: () => unknown): Route => ({ method: 'GET', path, handle: () => json(body()) });
  return [
    get('/api/options/models', () => knownModels(store.documents)),
    get('/api/options/agents', () => ['CodeActAgent']),
    get('/api/options/security-analyzers', () => ['llm']),
    get('/api/options/config', () => ({
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: '',
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
    })),
    ...providerRoutes(context),
  ];
}

const microagentQuery = record({ file_path: text() });
const repositoryIn = (c: Context): string => c.req.param('repository_name') ?? '';

const NEEDS_TOKEN = 'Git provider token required. (such as GitHub).';

/** What the user has at a git provider; only a Forgejo host is asked. Genuine servers refuse with a bare string. */
function providerRoutes({ store, clock }: AppContext): Route[] {
  const at = (
    path: string,
    refusal: string,
    ask: ((forgejo: Forgejo, c: Context) => Promise<unknown>) | null,
  ): Route => ({
    method: 'GET',
    path: `/api/user/${path}`,
    handle: async (c) => {
      const forgejo = connectedForgejo(store.documents);
      return forgejo === null || ask === null ? json(refusal, 401) : json(await answered(ask(forgejo, c)));
    },
  });
  const query = (c: Context, name: string): string => c.req.query(name) ?? '';
  return [
    at('installations', NEEDS_TOKEN, null),
    at('repositories', NEEDS_TOKEN, (forgejo) => forgejo.repositories('')),
    at('info', NEEDS_TOKEN, (forgejo) => forgejo.user()),
    at('suggested-tasks', 'No providers set.', (forgejo) => forgejo.tasks()),
    at('search/repositories', 'Git provider token required.', (forgejo, c) => forgejo.repositories(query(c, 'query'))),
    at('search/branches', NEEDS_TOKEN, (forgejo, c) => forgejo.branches(query(c, 'repository'), query(c, 'query'))),
    at('repository/branches', NEEDS_TOKEN, async (forgejo, c) => {
      const branches = await forgejo.branches(query(c, 'repository'), '');
      return { branches, has_next_page: false, current_page: 1, per_page: branches.length, total_count: null };
    }),
    at('repository/{repository_name:path}/microagents', NEEDS_TOKEN, (forgejo, c) =>
      microagentsOf(forgejo, repositoryIn(c), clock.stamp()),
    ),
    at('repository/{repository_name:path}/microagents/content', NEEDS_TOKEN, async (forgejo, c) => {
      const path = readQuery(c, microagentQuery).file_path.replace(/^\/+/, '');
      const found = await microagentContent(forgejo, repositoryIn(c), path).catch((error: unknown) => {
        if (!(error instanceof FrontMatterError)) throw error;
        throw new HttpAnswer(422, `Failed to parse microagent file ${path}: ${error.message}`);
      });
      // The status is that of genuine servers.
      if (found === null) throw new HttpAnswer(401, `Microagent file ${path} not found in ${repositoryIn(c)}`);
      return found;
    }),
  ];
}
