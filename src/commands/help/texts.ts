/** The pages of `acs help <topic>`. */
import { EXIT_CODES } from '../../errors.ts';
import type { Page } from './page.ts';
import type { TOPICS } from '../help-topics.ts';

/** In the order of EXIT_CODES, which the compiler holds complete. */
const EXIT_MEANINGS: Record<keyof typeof EXIT_CODES, string> = {
  ok: 'success; for follow and wait: the run finished',
  failed: 'the run ended in error or is stuck, or part of a bulk command or a --jq expression failed',
  usage: 'wrong command, flag, value or id, or an answer is required and prompts are off',
  config: 'no usable server, no model on the local service, unreadable profile store or file',
  auth: 'the key is missing or refused, or access is denied',
  'not-found': 'no such conversation, sandbox, spec, branch or field; no answer yet for result',
  conflict: 'the state does not allow it: paused, archived, already running, limit reached',
  'rate-limited': 'the server still answers 429 after the retries',
  'needs-input': 'the run waits for a confirmation, or for the user',
  server: 'the server answers 5xx after the retries, or sends an invalid answer',
  network: 'no connection, or no answer in time',
  'unknown-outcome': 'a create or send was sent, no answer arrived, and the result could not be looked up',
  unsupported: 'this server lacks the feature; the message names the servers that have it',
  internal: 'a bug in acs',
  timeout: "the command's wait deadline passed; the run continues",
  interrupted: 'Ctrl-C; 129 for SIGHUP, 143 for SIGTERM, 141 when the reader of follow or wait closed the pipe',
};

export async function topicPage(topic: (typeof TOPICS)[number]): Promise<Page> {
  switch (topic) {
    case 'exit-codes':
      return exitCodes();
    case 'environment':
      return ENVIRONMENT;
    case 'output':
      return [...OUTPUT, ...(await import('./records.ts')).recordsPage(), ...AFTER_RECORDS];
  }
}

function exitCodes(): Page {
  const kinds = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  return [
    {
      title: 'Exit codes; the word is `error.code` in JSON:',
      items: kinds.map((kind) => [`${String(EXIT_CODES[kind]).padStart(3)}  ${kind}`, EXIT_MEANINGS[kind]]),
    },
    {
      title: 'Exit code of a run (follow, wait, conv new --wait), judged by the latest user message:',
      items: [
        ['0', 'finished'],
        ['1', 'error or stuck'],
        ['5', 'deleted'],
        ['6', 'paused, stopped or archived before it ended'],
        ['8', 'waiting for a confirmation, or idle after a rejection'],
      ],
    },
    {
      title: 'Exit code of `acs sandbox exec`:',
      items: [
        ['0-255', 'that of the program; 128 and the number of the signal that ended it'],
        ['126, 127', 'the program cannot be run, or does not exist'],
        ['125', 'acs failed; `error.code` has the kind, as above'],
        ['12', 'this server lacks the feature; no program was started'],
        ['129, 130, 143', 'acs was interrupted before the program began'],
        ['141', 'the reader of stdout closed the pipe; the program was ended'],
      ],
    },
    'With several ids the worst code is used. A command that only reads exits 0 whatever it reads; `acs conv show --exit-status` exits with the code of the run, and with 6 while it is running or starting.',
  ];
}

const ENVIRONMENT: Page = [
  'Server: the first of --base-url, --profile, ACS_BASE_URL, ACS_PROFILE, the default profile (acs profile use), and on a terminal the built-in profile `local`. Off a terminal (stdin or stderr is not a terminal, or CI is set) there is no fallback: exit code 3.',
  "Key: --api-key-file, else the profile's own key, else ACS_API_KEY. `acs login` and `acs profile add` store a key, `acs logout` removes it. A stored key is sent only to the server it was stored for. `local` uses only its own key.",
  {
    title: 'Variables:',
    items: [
      ['ACS_BASE_URL', 'URL of the server'],
      ['ACS_PROFILE', 'name of a profile'],
      ['ACS_API_KEY', 'key for --base-url, ACS_BASE_URL, or a profile without a key'],
      ['OPENHANDS_API_KEY', 'read when ACS_API_KEY is not set'],
      ['OPENHANDS_CLOUD_API_KEY', 'read when neither of the two is set'],
      [
        'ACS_CONFIG_DIR',
        'directory of profiles and caches (default on Linux: ~/.config/acs, or acs in XDG_CONFIG_HOME)',
      ],
      [
        'ACS_DATA_DIR',
        'directory of the local service (default on Linux: ~/.local/share/acs, or acs in XDG_DATA_HOME)',
      ],
      ['CI', 'any value but false: never prompt, no default server'],
      ['NO_COLOR', 'any value: no colours'],
      ['FORCE_COLOR', 'any value but 0 or false: colours also in a pipe'],
      ['VISUAL, EDITOR', 'the editor for messages and settings, in this order; without both nano, else vi'],
      ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies; not used for loopback addresses'],
      ['NODE_EXTRA_CA_CERTS', 'file of additional certificate authorities'],
    ],
  },
  'ACS_BASE_URL, ACS_PROFILE or ACS_API_KEY that is set but empty, and a key without a server, are exit code 3: a job that lost its variables must not pass against an empty local service. `acs whoami` shows the active server and key and where they come from; `acs doctor` checks them.',
  'Requests: at most --rate per second to the app server; by default 8, on the cloud 1.5, after a first 10 at once. The local service and the agent servers of sandboxes have no limit. Answers may be encoded with gzip, deflate or br. A document may have 256 MiB and a file 512 MiB, before and after decoding; a larger answer, or another encoding, is exit code 9.',
];

const OUTPUT: Page = [
  'Data goes to stdout, or to the file of --output. Everything else goes to stderr.',
  {
    title: 'Formats:',
    items: [
      ['--format table', 'default on a terminal: fitted to its width, relative times'],
      [
        '--format tsv',
        'default in a pipe: no header, no colours, nothing cut; \\t \\n \\\\ are escaped, times are RFC 3339, new columns are added on the right',
      ],
      ['--format json', 'one document (--json)'],
      ['--format ndjson', 'one object a line, printed as soon as it is known'],
      ['--format id', 'ids only (-q)'],
      ['--fields <a,b,…>', 'choose and order the fields of table, tsv and json'],
      ['--jq <expr>', 'what a jq 1.8 expression selects of the JSON: texts without quotes, anything else as JSON'],
    ],
  },
  'Streams (conv follow, conv events --follow) print plain lines by default; --json means ndjson there. Raw output (conv result, conv diff, conv export, completion) is printed byte for byte, and made safe on a terminal.',
  {
    title: 'JSON documents, with <record> as listed below:',
    items: [
      ['a list', '{"items":[<record>,…],"has_more":false}'],
      ['one record', '<record>'],
      ['a write', '<record> plus "changed": true or false'],
      ['several changes', '<bulk result>'],
      ['a dry run', '{"dry_run":true,"requests":[{"method","url","body"},…]}'],
    ],
  },
  'A --jq expression is checked before any request; an error of its syntax is exit code 2. It is applied to the document, and in streams and with --format ndjson to each object. When it fails, the results before are printed and the exit code is 1, although the command itself has succeeded. It can read neither files nor variables of the environment.',
  'With json and ndjson every line on stderr is an object: <notice>, or <error> as the last line.',
];

const AFTER_RECORDS: Page = [
  'In a <bulk result> "before" and "after" are the status of the conversation or sandbox, or "present" for a secret or profile. null: it did not exist before, does not exist after, or was not read.',
  'With several profiles (-p a,b) every record also has "profile"; a server that failed is an item with "profile" and "error".',
  'Keys, tokens and secret values are never printed, also not with --debug. The only exception is `acs sandbox show --show-secrets`.',
];
