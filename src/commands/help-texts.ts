/** The texts of `acs help <topic>`. */
import { EXIT_CODES } from '../errors.ts';
import type { TOPICS } from './topics.ts';

const MEANING_WIDTH = 56;

/** In the order of EXIT_CODES, which the compiler holds complete. */
const EXIT_MEANINGS: Record<keyof typeof EXIT_CODES, string> = {
  ok: 'done; for follow and wait: the run finished',
  failed: 'the run ended in error or stuck, or part of a bulk command failed',
  usage: 'wrong command, flag, value or id, or a missing answer that may not be asked for',
  config: 'no usable server, no model on the local service, unreadable profile store or file',
  auth: 'key missing or refused, or not allowed',
  'not-found': 'no such conversation, sandbox, spec, branch or field; no answer yet for result',
  conflict: 'the state does not allow it: paused, archived, already running, limit reached',
  'rate-limited': 'still 429 after the retries',
  'needs-input': 'the run waits for a confirmation, or for the user',
  server: '5xx after the retries, or an answer that is not what the interface says',
  network: 'no connection or no answer in time',
  'unknown-outcome': 'a create or send went out, no answer came, and it could not be looked up',
  unsupported: 'this server does not have that feature; the message says which does',
  internal: 'a bug in acs',
  timeout: "the command's wait deadline passed (the run goes on)",
  interrupted: 'Ctrl-C; 129 is SIGHUP, 143 SIGTERM, 141 the reader of follow or wait went away',
};

export function topicText(topic: (typeof TOPICS)[number]): string {
  switch (topic) {
    case 'exit-codes':
      return exitCodes();
    case 'environment':
      return ENVIRONMENT;
    case 'output':
      return OUTPUT;
  }
}

function exitCodes(): string {
  const kinds = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  const rows = kinds.map((kind) => row(EXIT_CODES[kind], kind, EXIT_MEANINGS[kind]));
  return `Exit codes, and the word that is \`error.code\` with --json:

${rows.join('\n')}

Of a run (follow, wait, conv new --wait), judged by the latest user message:
  finished 0 · error or stuck 1 · waiting for a confirmation, idle after a rejection 8
  paused, stopped or archived before an end 6 · deleted 5
Several ids: the worst code. A command that reads ends with 0 whatever it read;
\`conv show --exit-status\` ends with the code of the run (running or starting: 6).
`;
}

/** One code; a long meaning goes on below itself. */
function row(code: number, kind: string, meaning: string): string {
  const lines: string[] = [];
  for (const word of meaning.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < MEANING_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return `  ${String(code).padStart(3)}  ${kind.padEnd(16)} ${lines.join(`\n${' '.repeat(24)}`)}`;
}

const ENVIRONMENT = `Which server, the first that is there:
  --base-url <url>, --profile <name>, ACS_BASE_URL, ACS_PROFILE, the default profile
  (acs profile use), and on a terminal the built-in profile \`local\`.
  Off a terminal (stdin or stderr is none, or CI is set) nothing is assumed: exit code 3.

Which key: --api-key-file, else the profile's own, else ACS_API_KEY. A stored key is sent
to the server it was stored for and to no other. \`local\` takes only its own.

  ACS_BASE_URL              URL of the server
  ACS_PROFILE               name of a profile
  ACS_API_KEY               key for --base-url, ACS_BASE_URL, or a profile without one
  OPENHANDS_API_KEY         read when ACS_API_KEY is not set
  OPENHANDS_CLOUD_API_KEY   read when neither is set
  ACS_CONFIG_DIR            directory of profiles and caches
                            (default: ~/.config/acs, or acs in XDG_CONFIG_HOME)
  ACS_DATA_DIR              directory of the local service's data
                            (default: ~/.local/share/acs, or acs in XDG_DATA_HOME)
                            macOS and Windows: the platform's own places for both
  CI                        set to anything but false: never ask, assume no server
  NO_COLOR                  set to anything: no colours
  FORCE_COLOR               set to anything but 0 or false: colours also on a pipe
  VISUAL, EDITOR            the editor for messages and settings, in this order;
                            neither set: nano, else vi
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                            proxies; never used for this machine itself
  NODE_EXTRA_CA_CERTS       file of further certificate authorities

ACS_BASE_URL, ACS_PROFILE or ACS_API_KEY set but empty, or a key without a server, is
exit code 3: a job that lost its variables must not pass against an empty local service.
\`acs whoami\` shows what is in force and where it came from.

Requests: at most --rate a second to the app server; without it 8, on the cloud 1.5, after a
first 10 at once. The local service and the agent servers of sandboxes have no limit.
Answers may be encoded with gzip, deflate or br. A document may have 256 MiB and a file
512 MiB, before and after decoding; a larger answer, another encoding: exit code 9.
`;

const OUTPUT = `Data goes to stdout (or --output <file>), everything else to stderr.

  --format table    default on a terminal: fitted to its width, relative times
  --format tsv      default in a pipe: no header, no colours, nothing cut;
                    \\t \\n \\\\ are escaped, times are RFC 3339, a new column comes last
  --format json     one document (--json)
  --format ndjson   one object a line, as soon as it is there
  --format id       ids only (-q)
  --fields <a,b>    choose and order the fields of table, tsv and json

JSON of a list:    {"items":[…],"has_more":false}
     of one thing: the object
     of a write:   the object and "changed":true or false
     of a bulk:    {"items":[{"id","ok","changed","before","after","error"}],
                    "matched":n,"failed":n}
     of an error:  {"error":{"code","message","hint","status","request","retryable"}}
With json and ndjson every line on stderr is an object: {"notice":…}, or last {"error":…}.

Streams (conv follow, conv events -f) print plain lines; --json means ndjson there.
Raw output (conv result, conv diff, completion) is bytes as they are; made safe on a
terminal.
Keys, tokens and secret values are never printed, not with --debug either. The one
exception is asked for by name: sandbox show --show-secrets.
`;
