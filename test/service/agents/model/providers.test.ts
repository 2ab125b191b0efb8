/** Whole conversations at the interfaces of Anthropic, OpenAI and Google. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { sandboxOfTest } from '../../agent-server/support/shared-sandboxes.ts';
import { ID, message } from '../../agent-server/support/worker.ts';
import { ofKind } from './endpoint.ts';
import {
  type Answer,
  type Asked,
  KEY,
  type ProviderName,
  PROVIDERS,
  stream,
  useProviders,
} from './provider.ts';

const sandbox = sandboxOfTest();
const endpoint = useProviders();

const FIRST: Answer = {
  reasoning: 'I have to think.',
  signature: 'signature-1',
  text: 'I think.',
  calls: [
    ['task_tracker', { command: 'view' }],
    ['think', { thought: 'two' }],
  ],
};
const SECOND: Answer = { signature: 'signature-2', text: 'Which file?' };
const LAST: Answer = { text: 'Done.', calls: [['finish', { message: 'All done.' }]] };

const SETTINGS = {
  reasoning_effort: 'low',
  reasoning_summary: 'auto',
  max_output_tokens: 8000,
  seed: 7,
  top_k: 5,
  litellm_extra_body: { metadata: { user_id: 'u' } },
};
const OF_PROVIDER: Record<ProviderName, object> = {
  anthropic: { extended_thinking_budget: 3000 },
  openai: { litellm_extra_body: { service_tier: 'flex' } },
  google: { litellm_extra_body: { labels: { team: 'a' } } },
};

const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

async function converse(name: ProviderName): Promise<StoredEvent[]> {
  const { events } = PROVIDERS[name];
  endpoint.reply(...[FIRST, SECOND].map((answer) => stream(events(answer))));
  const first = await sandbox.start();
  const initial = message('Please do it.');
  const content = [...(initial['content'] as object[]), { type: 'image', image_urls: [IMAGE] }];
  await first.startConversation(null, {
    agent: {
      ...endpoint.agent(name, { ...SETTINGS, ...OF_PROVIDER[name] }),
      tools: [{ name: 'task_tracker' }],
    },
    initial_message: { ...initial, content },
  });
  await first.untilStatus('finished');
  await first.kill('SIGKILL');
  const second = await sandbox.start();
  endpoint.reply(stream(events(LAST)));
  await second.call('POST', `/api/conversations/${ID}/events`, message('a.txt'));
  await second.untilStatus('finished');
  return second.events();
}

/** The bodies of the requests without what differs from one run to the next. */
function recorded(asked: readonly Asked[], events: readonly StoredEvent[]): string {
  const [system] = ofKind(events as StoredEvent[], 'SystemPromptEvent');
  const { text } = system?.['system_prompt'] as { text: string };
  const ids = ofKind(events as StoredEvent[], 'ActionEvent').map((event) =>
    String(event['tool_call_id']),
  );
  const bodies = asked.map(({ text: body }) =>
    ids.reduce(
      (changed, id, index) => changed.replaceAll(id, `call-${index}`),
      body.replace(JSON.stringify(text), '"The system prompt."'),
    ),
  );
  return `${JSON.stringify(
    bodies.map((body) => JSON.parse(body) as unknown),
    null,
    1,
  )}\n`;
}

const REQUESTS = path.join(import.meta.dirname, '../../../fixtures/requests');
const NAMES = Object.keys(PROVIDERS) as ProviderName[];

/** The members of the first call, and of the message without a call. */
const REASONING: Record<ProviderName, [ofCall: object, ofMessage: object]> = {
  anthropic: [
    {
      reasoning_content: 'I have to think.',
      thinking_blocks: [
        { type: 'thinking', thinking: 'I have to think.', signature: 'signature-1' },
      ],
    },
    { thinking_blocks: [{ type: 'redacted_thinking', data: 'signature-2' }] },
  ],
  openai: [
    {
      reasoning_content: 'I have to think.',
      responses_reasoning_item: {
        id: 'rs_signature-1',
        summary: ['I have to think.'],
        encrypted_content: 'signature-1',
      },
    },
    { responses_reasoning_item: { encrypted_content: 'signature-2', summary: [] } },
  ],
  google: [
    {
      reasoning_content: 'I have to think.',
      tool_call: { thought_signature: 'signature-1' },
    },
    {},
  ],
};

const USAGE: Record<ProviderName, object> = {
  anthropic: { prompt_tokens: 300, cache_read_tokens: 180, cache_write_tokens: 90 },
  openai: { prompt_tokens: 300, cache_read_tokens: 180, reasoning_tokens: 24 },
  google: { prompt_tokens: 300, cache_read_tokens: 180, reasoning_tokens: 24 },
};

it.each(NAMES)('a conversation with %s stores reasoning and sends it back', async (name) => {
  const events = await converse(name);
  await expect(recorded(endpoint.asked, events)).toMatchFileSnapshot(`${REQUESTS}/${name}.json`);

  const [ofCall, ofMessage] = REASONING[name];
  expect(ofKind(events, 'ActionEvent')[0]).toMatchObject({
    thought: [{ text: 'I think.' }],
    ...ofCall,
  });
  const said = ofKind(events, 'MessageEvent').find(({ source }) => source === 'agent');
  expect(said?.['llm_message']).toMatchObject({ content: [{ text: 'Which file?' }], ...ofMessage });
  const stats = events.findLast(({ key }) => key === 'stats')?.['value'] as {
    usage_to_metrics: { agent: { accumulated_token_usage: object } };
  };
  expect(stats.usage_to_metrics.agent.accumulated_token_usage).toMatchObject({
    completion_tokens: 60,
    ...USAGE[name],
  });
  const [header, before] = PROVIDERS[name].key;
  expect(endpoint.asked.map(({ headers }) => headers[header])).toEqual(Array(3).fill(before + KEY));
});

it.each(NAMES)('the recorded requests to %s fit the types of its SDK', (name) => {
  const read = (file: string): string => readFileSync(path.join(REQUESTS, file), 'utf8');
  const { digests } = JSON.parse(read('checked.json')) as { digests: Record<string, string> };
  const digest = createHash('sha256')
    .update(read(`${name}.json`))
    .digest('hex');
  expect(digest, 'run scripts/check-requests.mjs').toBe(digests[name]);
});
