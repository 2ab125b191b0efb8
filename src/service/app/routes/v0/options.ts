/** Lists of options, and the routes that would ask a git provider (interface sections 2.3 and 3.5). */
import { json } from '../../answers.ts';
import type { Route } from '../../app.ts';
import type { AppContext } from '../../context.ts';
import { knownModels } from '../../settings/models.ts';

export function optionRoutes({ store }: AppContext): Route[] {
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
    ...PROVIDER_PATHS.map(([path, text]) => refused(path, text)),
  ];
}

const NEEDS_TOKEN = 'Git provider token required. (such as GitHub).';
const PROVIDER_PATHS: [string, string][] = [
  ['installations', NEEDS_TOKEN],
  ['repositories', NEEDS_TOKEN],
  ['info', NEEDS_TOKEN],
  ['suggested-tasks', 'No providers set.'],
  ['search/repositories', 'Git provider token required.'],
  ['search/branches', NEEDS_TOKEN],
  ['repository/branches', NEEDS_TOKEN],
];

/** Genuine servers answer these with a bare string. */
function refused(path: string, text: string): Route {
  return { method: 'GET', path: `/api/user/${path}`, handle: () => json(text, 401) };
}
