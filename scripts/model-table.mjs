// Writes src/service/base/known-models.json from the table of models in LiteLLM (MIT), which pip
// downloads from PyPI: node scripts/model-table.mjs <version>
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { unzipSync } from 'fflate';

const SOURCE = 'litellm/model_prices_and_context_window_backup.json';
const TARGET = path.resolve(import.meta.dirname, '../src/service/base/known-models.json');
/** Names of LiteLLM; a group, if there is one, is the name in the table. */
const CHOSEN = [
  /^claude-(?:opus|sonnet|haiku|fable|mythos)-[\d-]+$/,
  /^(?:gpt-(?:4o|4\.1|5|6)|o[134](?:-|$)|codex|chat-latest$)/,
  /^gemini\/(gemini-(?:[2-9]|(?:pro|flash)).*)$/,
  /^xai\/(grok-(?!.*(?:beta|experimental|gv2)).*)$/,
  /^deepseek-/,
  /^deepseek\//,
  /^mistral\/(?:codestral|devstral|magistral|mistral-(?:large|medium|small)|mistral-code).*$/,
  /^(?:moonshot\/kimi|zai\/glm-(?:4\.[5-9]|5)|minimax\/)/,
  /^dashscope\/qwen(?:3|-max|-plus|-flash|-coder)(?!.*vl)/,
  /^(?:groq|cerebras|sambanova)\//,
  /^together_ai\/(?:deepseek-ai|moonshotai|zai-org|MiniMaxAI|openai)\//,
  /^fireworks_ai\/(?:deepseek|glm|kimi|minimax|gpt-oss|qwen3)(?!.*-(?:fast|us)$)/,
  /^command-a/,
];
const DATED = /-\d{8}$|-\d{4}-\d\d-\d\d$|-\d{4}$|-\d{4}-(?:non-)?reasoning$/;
const OTHER_USE = /audio|search|tts|realtime|image|vision|computer-use|robotics|live|omni|guard/;

const [version] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), 'acs-models-'));
execFileSync('pip', ['download', '-q', '--no-deps', '-d', folder, `litellm==${version}`]);
const wheel = path.join(folder, readdirSync(folder)[0]);
const files = unzipSync(readFileSync(wheel), { filter: ({ name }) => name === SOURCE });
rmSync(folder, { recursive: true });
const table = JSON.parse(new TextDecoder().decode(files[SOURCE]));

const rows = Object.entries(table).flatMap(([name, model]) => {
  const match = CHOSEN.map((pattern) => pattern.exec(name)).find(Boolean);
  const isChosen = match && ['chat', 'responses'].includes(model.mode) && !OTHER_USE.test(name);
  if (!isChosen || DATED.test(name)) return [];
  const own = (match[1] ?? name).toLowerCase().replaceAll('.', '-');
  return [[own, rowOf(model)]];
});
const lines = [...new Map(rows.sort(([a], [b]) => (a < b ? -1 : 1)))].map(
  ([name, row]) => `    ${JSON.stringify(name)}: ${JSON.stringify(row)}`,
);
const source = `litellm ${version} (PyPI), MIT License, Copyright (c) 2023 Berri AI`;
writeFileSync(
  TARGET,
  `{\n  "source": ${JSON.stringify(source)},\n  "models": {\n${lines.join(',\n')}\n  }\n}\n`,
);

/** As in known-models.ts: context, longest answer, reasoning, and the prices from a length on. */
function rowOf(model) {
  const lengths = Object.keys(model).flatMap((name) => {
    const thousands = /^input_cost_per_token_above_(\d+)k_tokens$/.exec(name)?.[1];
    return thousands === undefined ? [] : [Number(thousands)];
  });
  if (model.tiered_pricing) return [...limitsOf(model), model.tiered_pricing.map(tierOf)];
  const tiers = [0, ...lengths.sort((a, b) => a - b)].map((thousands) => {
    const suffix = thousands === 0 ? '' : `_above_${thousands}k_tokens`;
    const price = (name) => perMillion(model[name + suffix] ?? model[name]);
    return [
      thousands * 1000,
      price('input_cost_per_token'),
      price('output_cost_per_token'),
      price('cache_read_input_token_cost'),
      price('cache_creation_input_token_cost'),
    ];
  });
  const hasPrice = tiers[0][1] !== null && tiers[0][2] !== null;
  return [...limitsOf(model), hasPrice ? tiers : []];
}

function tierOf({ range: [from], ...prices }) {
  const names = ['input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost'];
  return [from, ...names.map((name) => perMillion(prices[name])), null];
}

function limitsOf({ max_input_tokens = null, max_output_tokens = null, supports_reasoning }) {
  return [max_input_tokens, max_output_tokens, supports_reasoning === true];
}

/** 0 of a cache stands for no price of its own in this table. */
function perMillion(token) {
  return token ? Number((token * 1e6).toPrecision(6)) : null;
}
