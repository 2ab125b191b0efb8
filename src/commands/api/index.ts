import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { RAW_METHODS, type RawMethod } from '../../domain/raw-call.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { collect, invalidValue } from '../option-parsers.ts';
import { addressOf, relativeTo } from './address.ts';
import { printPages } from './pages.ts';
import { printAnswer } from './print.ts';
import { contentOf, type RequestOptions } from './request.ts';

export interface ApiOptions extends RequestOptions {
  paginate?: boolean;
  include?: boolean;
}

export function declareApi(root: Command, ctx: Context): void {
  const command = root.command('api').description('send any request to the server');
  const methods = Object.assign(methodOf, { words: RAW_METHODS });
  command
    .argument('<METHOD>', `${RAW_METHODS.join(', ')}, in any case`, methods)
    .argument('<path>', 'below the URL of the server, with its query; or a URL that begins with it')
    .option('-f, --raw-field <key=value>', 'add a text member to the body or query; can be repeated', collect)
    .option('-F, --field <key=value>', 'the same, typed: true, false, null, a number, @file, @- for stdin', collect)
    .option('--input <file|->', 'send the content of a file, or of stdin, as the body')
    .option('-H, --header <name:value>', 'add a header; can be repeated', collect)
    .option('-i, --include', 'print the status line and the headers before the body')
    .option('--paginate', 'read all pages of a list, by next_page_id and page_id');
  explain(command, {
    notes: [
      'The fields are members of a JSON object. With GET, HEAD, OPTIONS and --input they are added to the query instead. In a body key[sub]=value sets a member of an object, and key[]=value adds to a list; in a query a repeated key is sent repeatedly.',
      '-f always sends text. -F sends true, false, null and numbers as such; @file and @- send the text of a file or of stdin without the line end after it; anything else is text. A key that names a secret, such as api_key, takes only @file or @-; so do query and headers: none takes a secret from the command line.',
      'The body of --input is sent as it is. Its type is application/json, unless -H content-type names another.',
      'The answer is printed as it was received; on a terminal JSON is indented and control characters are made safe. --json indents JSON everywhere and fails for other content, --format ndjson prints one line for each answer, with --paginate for each item. Secrets in an answer (keys, tokens, session_api_key, set-cookie) are printed as <redacted>; only `acs sandbox show --show-secrets` prints a session key.',
      'When the status is not a success, the body is printed as well, the error goes to stderr, and the exit code is that of the status: 400 and 422 are 2, 401 and 403 4, 404 5, 409 6, 429 7, 5xx 9. With --json, --format, --jq, --paginate and --output the body of a failed request is not printed.',
      '--paginate prints one document: the first page with the items of all pages. Items with the id of an earlier one are dropped, and a page id that comes a second time is an error.',
      'GET, HEAD, OPTIONS, PUT and DELETE are repeated as by all commands after 429, 502, 503, 504 and lost connections; POST and PATCH only after 429 and a refused connection. A redirect to another origin is not followed.',
    ],
    json: () => ['the answer of the server', ['with --paginate', 'the first page, with the items of all pages']],
    exits: ['not-found', 'conflict', 'rate-limited', 'unknown-outcome', 'unsupported'],
    examples: [
      { command: 'acs api GET /api/v1/users/me', does: 'print the answer of a route' },
      {
        command: 'acs api GET /api/v1/conversations/search --paginate --format ndjson',
        does: 'print all items of a list, one a line',
      },
      {
        command: 'acs api POST /api/v1/sandboxes --dry-run',
        does: 'print the request instead of sending it',
      },
      {
        command: 'acs api PATCH /api/v1/app-conversations/1f0c -f title=Release -F public=true',
        does: 'send a JSON object',
      },
      {
        command: "acs api GET /api/v1/sandboxes/search --paginate --jq '.items[].id'",
        does: 'print what a jq expression selects',
      },
    ],
  });
  command.action((method: RawMethod, path: string, options: ApiOptions) => callServer(method, path, options, ctx));
}

function methodOf(text: string): RawMethod {
  const method = RAW_METHODS.find((known) => known === text.toUpperCase());
  if (method === undefined) throw invalidValue(`It must be one of ${RAW_METHODS.join(', ')}.`);
  return method;
}

async function callServer(method: RawMethod, path: string, options: ApiOptions, ctx: Context): Promise<void> {
  ctx.out.check(null, 'document');
  checkOptions(method, options, ctx);
  const address = addressOf(path);
  const { query, headers, body } = await contentOf(method, options, ctx);
  const { server, path: below } = await relativeTo(address, ctx);
  const call = { method, path: withQuery(below, query), headers, body };
  if (options.paginate) return await printPages(server, call, ctx);
  await printAnswer(await server.call(call), options, ctx);
}

/** Refuses flags that exclude each other. */
function checkOptions(method: RawMethod, { include, paginate, input }: ApiOptions, { globals }: Context): void {
  const exclusions: [boolean | undefined, string][] = [
    [include && globals.format !== undefined, '--include prints headers, which are not JSON: omit --json and --format'],
    [include && paginate, '--include and --paginate exclude each other: headers belong to one answer'],
    [paginate && method !== 'GET', '--paginate reads a list: it needs GET'],
    [method === 'HEAD' && globals.format !== undefined, 'an answer to HEAD has no body: use --include'],
    [
      input !== undefined && (method === 'GET' || method === 'HEAD'),
      `${method} has no body: --input is for the others`,
    ],
  ];
  const [first] = exclusions.filter(([isGiven]) => isGiven);
  if (first !== undefined) throw new AppError('usage', first[1]);
}

function withQuery(path: string, query: URLSearchParams): string {
  if (query.size === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query.toString()}`;
}
