// A server for the bench: a process of its own, so that its work is not the client's, and the
// answers of a V1 server of twenty conversations, made beforehand, so that its work is little.
// Prints its URL.
import { createServer } from 'node:http';

const answers = {
  // Without a document the client would probe the server for each command.
  '/openapi.json': { paths: { '/api/v1/app-conversations/search': { get: {} } } },
  '/api/v1/web-client/config': { app_mode: 'oss' },
  '/api/v1/app-conversations/count': 20,
  '/api/v1/app-conversations/search': {
    items: Array.from({ length: 20 }, (_, index) => conversation(index)),
    next_page_id: null,
  },
};
const bodies = new Map(
  Object.entries(answers).map(([route, answer]) => [route, JSON.stringify(answer)]),
);

const server = createServer((request, response) => {
  const body = bodies.get(new URL(request.url, 'http://localhost').pathname);
  response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' });
  response.end(body ?? '{"detail":"Not Found"}');
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});

/** About as large as a record of a server in use: 1 KB. */
function conversation(index) {
  const id = index.toString(16).padStart(2, '0').repeat(16);
  return {
    id,
    created_by_user_id: null,
    sandbox_id: `sandbox-${index}`,
    selected_repository: `team/project-${index}`,
    selected_branch: 'main',
    git_provider: 'github',
    title: `Repair the tests of part ${index}`,
    trigger: null,
    pr_number: [],
    llm_model: 'provider/model',
    agent_kind: 'openhands',
    metrics: {
      model_name: 'default',
      accumulated_cost: index / 100,
      max_budget_per_task: null,
      accumulated_token_usage: {
        model: 'provider/model',
        prompt_tokens: 1000 * index,
        completion_tokens: 100 * index,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
        context_window: 128000,
        per_turn_token: 120,
        response_id: '',
      },
    },
    parent_conversation_id: null,
    sub_conversation_ids: [],
    public: null,
    tags: {},
    created_at: '2026-01-01T10:00:00.000000Z',
    updated_at: '2026-01-01T11:00:00.000000Z',
    sandbox_status: 'RUNNING',
    execution_status: 'finished',
    conversation_url: `http://localhost:8000/api/conversations/${id}`,
    session_api_key: 'key-of-the-sandbox',
    acp_server: null,
    launched_agent_profile: null,
  };
}
