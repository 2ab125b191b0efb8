import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES } from '../../base/errors.ts';
import { childNamed, TOPICS } from '../shared/declare.ts';
import { bulkShape, type RecordShape } from '../../output/view.ts';
import { appliedView } from '../automation/apply.ts';
import { automationView, runView as automationRunView } from '../automation/automations.ts';
import { resultView, runView } from '../conv/batch/results.ts';
import { confirmationView } from '../conv/confirm.ts';
import { fileView } from '../conv/diff.ts';
import { eventView } from '../conv/event-view.ts';
import { webPageView } from '../conv/open.ts';
import { pulledView } from '../conv/pull.ts';
import { answerView } from '../conv/result.ts';
import { conversationView, outcomeView, startedShape } from '../conv/conversations.ts';
import { ERROR_MEMBERS, unreadShape } from '../conv/wait.ts';
import { gitProviderView } from '../git-provider.ts';
import { checkView } from '../doctor/index.ts';
import { profileView, showView } from '../profile.ts';
import { branchView, repositoryView } from '../repo.ts';
import { copiedView, sandboxView } from '../sandbox/sandboxes.ts';
import { secretView } from '../secret.ts';
import { readyShape, startedView, statusView, stoppedView } from '../serve.ts';
import { modelView } from '../model.ts';
import { modelProfileView } from '../settings/profile.ts';
import { fieldView } from '../settings/index.ts';
import { specView } from '../shared/specs.ts';
import { identityView } from '../whoami.ts';
import { layoutFor, pageText, type Page } from './page.ts';

/** Replaces commander's own `help`, which has no topics. */
export function declare(help: Command, ctx: Context): void {
  const root = help.parent as Command;
  help
    .argument('[words...]')
    .helpOption('-h, --help', 'print help')
    .action(async (words: string[]) => {
      const topic = words.length === 1 ? TOPICS.find((known) => known === words[0]) : undefined;
      if (topic !== undefined) {
        ctx.out.check(null, 'raw');
        ctx.out.page();
        return await ctx.out.raw(
          pageText(TOPIC_PAGES[topic], layoutFor(root, ctx.terminal.io.stdout.columns)),
        );
      }
      let command = root;
      for (const [index, word] of words.entries()) {
        const child = childNamed(command, word);
        if (child === undefined) {
          const known = ['acs', ...words.slice(0, index)].join(' ');
          throw new AppError('usage', `no command or help topic "${words.join(' ')}"`, {
            hint:
              index === 0
                ? `topics: ${TOPICS.join(', ')}; commands: acs --help`
                : `see: ${known} --help`,
          });
        }
        command = child;
      }
      command.help();
    });
}

/** In the order of EXIT_CODES, which the compiler holds complete. */
const EXIT_MEANINGS: Record<keyof typeof EXIT_CODES, string> = {
  ok: 'success; for follow and wait: the run finished',
  failed:
    'the run ended in error or is stuck, or part of a bulk command or a --jq expression failed',
  usage: 'wrong command, flag, value or id, or an answer is required and prompts are off',
  config: 'no usable server, no model on the local service, unreadable profile store or file',
  auth: 'the key is missing or refused, or access is denied',
  'not-found': 'no such conversation, sandbox, spec, branch or field; no answer yet for result',
  conflict: 'the state does not allow it: paused, archived, already running, limit reached',
  'rate-limited': 'the server still answers 429 after the retries',
  'needs-input': 'the run waits for a confirmation, or for the user',
  server: 'the server answers 5xx after the retries, or sends an invalid answer',
  network: 'no connection, or no answer in time',
  'unknown-outcome':
    'a create or send was sent, no answer arrived, and the result could not be looked up',
  unsupported: 'this server lacks the feature; the message names the servers that have it',
  internal: 'a bug in acs',
  timeout: "the command's wait deadline passed; the run continues",
  interrupted:
    'Ctrl-C; 129 for SIGHUP, 143 for SIGTERM, 141 when the reader of follow or wait closed ' +
    'the pipe',
};

const EXIT_CODE_PAGE: Page = [
  {
    title: 'Exit codes; the word is `error.code` in JSON:',
    items: Object.entries(EXIT_MEANINGS).map(([kind, meaning]) => [
      `${String(EXIT_CODES[kind as keyof typeof EXIT_CODES]).padStart(3)}  ${kind}`,
      meaning,
    ]),
  },
  'The exit codes of every command are 0, 2, 3, 4, 7, 9, 10, 12 and 130.',
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
      ['129, 130, 143', 'acs was interrupted before the program began'],
      ['141', 'the reader of stdout closed the pipe; the program was ended'],
    ],
  },
  'With several ids the worst code is used. A command that only reads exits 0 whatever it ' +
    'reads; `acs conv show --exit-status` exits with the code of the run, and with 6 while it ' +
    'is running or starting.',
];

const ENVIRONMENT: Page = [
  'Server: the first of --base-url, --profile, ACS_BASE_URL, ACS_PROFILE, the default ' +
    'profile (acs profile use), and on a terminal the built-in profile `local`. Outside a ' +
    'terminal (stdin or stderr is not a terminal, or CI is set) there is no fallback: exit ' +
    'code 3.',
  "Key: --api-key-file, else the profile's own key, else ACS_API_KEY. `acs login` stores a " +
    'key, `acs logout` removes it. A stored key is sent only to the server it was stored for. ' +
    '`local` uses only its own key.',
  {
    title: 'Variables:',
    items: [
      ['ACS_BASE_URL', 'URL of the server'],
      ['ACS_PROFILE', 'name of a profile'],
      ['ACS_API_KEY', 'key for --base-url, ACS_BASE_URL, or a profile without a key'],
      ['OPENHANDS_API_KEY', 'read when ACS_API_KEY is not set'],
      ['OPENHANDS_CLOUD_API_KEY', 'read when neither of the two is set'],
      ['LOCAL_BACKEND_API_KEY', 'the key of Agent Canvas, which acs login offers'],
      [
        'ACS_CONFIG_DIR',
        'directory of profiles and caches (default on Linux: ~/.config/acs, or acs in ' +
          'XDG_CONFIG_HOME)',
      ],
      [
        'ACS_DATA_DIR',
        'directory of the local service (default on Linux: ~/.local/share/acs, or acs in ' +
          'XDG_DATA_HOME)',
      ],
      ['ACS_RATE', 'most requests per second to the app server'],
      ['CI', 'any value but false: never prompt, no default server'],
      ['NO_COLOR', 'any value: no colours'],
      ['FORCE_COLOR', 'any value but 0 or false: colours also in a pipe'],
      [
        'ACS_PAGER, PAGER',
        'the pager for text on a terminal that is longer than the screen, in this order ' +
          '(default: less -FRX); empty or cat: none',
      ],
      [
        'VISUAL, EDITOR',
        'the editor for messages and settings, in this order; without both nano, else vi',
      ],
      ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies; not used for loopback addresses'],
      ['NODE_EXTRA_CA_CERTS', 'file of additional certificate authorities'],
    ],
  },
  'ACS_BASE_URL, ACS_PROFILE or ACS_API_KEY that is set but empty, and a key without a ' +
    'server, are exit code 3: a job that lost its variables must not pass against an empty ' +
    'local service. `acs whoami` shows the active server and key and where they come from; ' +
    '`acs doctor` checks them.',
  'Requests to the app server: at most ACS_RATE per second; by default 8, on the cloud 1.5, ' +
    'after a first 10 at once. The local service and the agent servers of sandboxes have no ' +
    'limit. Answers may be encoded with gzip or br. A document may have 256 MiB and a file ' +
    '512 MiB, before and after decoding; a larger answer, or another encoding, is exit code 9.',
];

const OUTPUT: Page = [
  'Data goes to stdout, or to the file of --output. Everything else goes to stderr; with -q ' +
    'only errors and questions.',
  {
    title: 'Formats:',
    items: [
      ['--format table', 'default on a terminal: fitted to its width, relative times'],
      [
        '--format tsv',
        'default in a pipe: no header, no colours, nothing cut; \\t \\n \\\\ are escaped, ' +
          'times are RFC 3339, new columns are added on the right',
      ],
      ['--format json', 'one document (--json)'],
      ['--format ndjson', 'one object a line, printed as soon as it is known'],
      ['--format id', 'ids only (-q)'],
      ['--fields <a,b,…>', 'choose and order the fields of table, tsv and json'],
      [
        '--jq <expr>',
        'what a jq 1.8 expression selects of the JSON: texts without quotes, anything else as JSON',
      ],
    ],
  },
  'Streams (conv follow, conv events --follow, list --watch) print plain lines by default; ' +
    '--json means ndjson there. Raw output (conv result, conv diff, conv export, completion) is ' +
    'printed byte for byte, and made safe on a terminal.',
  'A command that changes something prints one line for each change on a terminal, and a run ' +
    'ends there with its answer, its outcome, the changed files and the next command; --format, ' +
    '--fields and pipes print the records.',
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
  'A --jq expression is checked before any request; an error of its syntax is exit code 2. ' +
    'It is applied to the document, and in streams and with --format ndjson to each object. ' +
    'When it fails, the results before are printed and the exit code is 1, although the ' +
    'command itself has succeeded. An expression that does not end is ended after ' +
    '--request-timeout (default 30s), and at the deadline of a command that waits: exit code ' +
    '124. It can read neither files nor variables of the environment.',
  'With json and ndjson every line on stderr is an object: <notice>, or <error> as the last line.',
];

const MODELS: Page = [
  'On the local service acs calls the model that your settings name, with your key. Other ' +
    'servers call it themselves.',
  {
    title: 'Choose a model:',
    items: [
      ['acs settings get llm_model', 'the one in use'],
      ['acs model list', 'those that --model takes on this server'],
      ['acs settings set llm_model=<name>', 'use another one from now on'],
      ["acs conv new --model <name> 'Fix it'", 'use it for one conversation'],
      ['acs settings profile save <name>', 'store the settings of a model under a name'],
    ],
  },
  {
    title: 'Settings for the local service, after `acs settings set`:',
    items: [
      ['llm_model=qwen3:8b llm_base_url=http://127.0.0.1:11434/v1', 'Ollama on this machine'],
      ['llm_model=anthropic/<name> llm_api_key=-', 'a provider, with the key on stdin'],
      [
        'llm_model=<name> llm_base_url=<url> llm_api_key=@key.txt',
        'any OpenAI-compatible endpoint, with the key in a file',
      ],
    ],
    below: true,
  },
  'They are stored when the model has answered one call; `acs doctor` repeats the call.',
];

const LOCAL_SERVICE: Page = [
  'A server of one user on this machine. It needs no account and no container. The profile ' +
    '`local` is the default on a terminal while no other server is set up. Commands start the ' +
    'service; it ends after 30 minutes without a run or a client.',
  {
    title: 'Manage it:',
    items: [
      ['acs serve --status', 'print its URL, process and version'],
      ['acs serve --logs', 'print its log'],
      ['acs serve --stop', 'stop it and pause its sandboxes; nothing is deleted'],
      ['acs doctor -p local', 'check model, isolation and disk'],
    ],
  },
  {
    title: 'Run an agent:',
    items: [
      ['acs conv new --replay demo --follow', 'the built-in demo, without a model'],
      ["acs conv new 'Fix the tests' --follow", 'a model (acs help models)'],
      ['acs conv pull @last', 'retrieve the changes into your checkout'],
    ],
  },
  'An agent works in a clone of your checkout. bubblewrap isolates its commands: they see the ' +
    'clone and a read-only system, neither your home directory nor your keys. `--spec ' +
    'bubblewrap-offline` has no network, `--spec process` no isolation. ACS_DATA_DIR has ' +
    'conversations, clones and settings.',
];

const errorShape: RecordShape = {
  noun: 'error',
  fields: [{ name: 'error', json: { members: ERROR_MEMBERS } }],
};
const noticeShape: RecordShape = {
  noun: 'notice',
  fields: [{ name: 'notice' }, { name: 'level' }],
};

export const RECORDS: readonly RecordShape[] = [
  conversationView,
  eventView(null),
  outcomeView,
  startedShape,
  unreadShape,
  answerView,
  resultView,
  runView,
  confirmationView,
  fileView,
  webPageView,
  pulledView,
  sandboxView,
  copiedView,
  specView,
  fieldView,
  modelView,
  modelProfileView,
  secretView,
  gitProviderView,
  automationView('json'),
  automationRunView,
  appliedView,
  repositoryView,
  branchView,
  profileView,
  showView,
  identityView,
  checkView,
  readyShape,
  startedView,
  stoppedView,
  statusView,
  bulkShape,
  errorShape,
  noticeShape,
];

/** `title`, `reason {code, text}`, `repositories []`, `urls [{name, url}]`. */
const RECORD_LISTS: Page = [
  {
    title: 'Records and their members, which are also the names that --fields takes:',
    items: RECORDS.map(({ noun, fields }) => {
      const members = fields.map(({ name, json }) => {
        if (json === undefined) return name;
        const object = json.members === undefined ? '' : `{${json.members.join(', ')}}`;
        return `${name} ${json.list ? `[${object}]` : object}`;
      });
      return [`<${noun}>`, members.join(', ')];
    }),
  },
];

const AFTER_RECORDS: Page = [
  'In a <bulk result> "before" and "after" are the status of the conversation or sandbox, ' +
    'or "present" for a secret or profile. null: it did not exist before, does not exist ' +
    'after, or was not read.',
  'Keys, tokens and secret values are never printed, also not with --debug. The only ' +
    'exception is `acs sandbox show --show-secrets`.',
];

export const TOPIC_PAGES: Readonly<Record<(typeof TOPICS)[number], Page>> = {
  models: MODELS,
  'local-service': LOCAL_SERVICE,
  'exit-codes': EXIT_CODE_PAGE,
  environment: ENVIRONMENT,
  output: [...OUTPUT, ...RECORD_LISTS, ...AFTER_RECORDS],
};
