import { STATUS_CODES } from 'node:http';
import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError } from '../base/errors.ts';
import type { Server } from '../client/shared/server.ts';
import { eachPage, type Page } from '../domain/pages.ts';
import { RAW_METHODS, type RawAnswer, type RawCall, type RawMethod } from '../domain/raw-call.ts';
import { jsonDocument } from '../output/json.ts';
import { explain } from './shared/declare.ts';
import { collect, invalidValue } from './shared/option-parsers.ts';
import { memberRedaction } from '../base/text/redact.ts';
import { isSecretName } from '../base/text/secret-names.ts';
import { nameOfInput, readInput, readText } from './shared/files.ts';
import { cut } from '../base/text/well-formed.ts';

interface ApiOptions {
  rawField?: string[];
  field?: string[];
  input?: string;
  header?: string[];
  paginate?: boolean;
  include?: boolean;
}

export function declare(command: Command, ctx: Context): void {
  const readMethod = (text: string): RawMethod => {
    const method = RAW_METHODS.find((known) => known === text.toUpperCase());
    if (method === undefined) throw invalidValue(`It must be one of ${RAW_METHODS.join(', ')}.`);
    return method;
  };
  command
    .argument('<METHOD>', RAW_METHODS.join(', '), Object.assign(readMethod, { words: RAW_METHODS }))
    .argument('<path>', 'a path with its query, or a URL of the server')
    .option(
      '-f, --raw-field <key=value>',
      'add a text member to body or query (repeatable)',
      collect,
    )
    .option('-F, --field <key=value>', 'the same, typed: true, null, 3, @file, @- (stdin)', collect)
    .option('--input <file|->', 'send the content of a file as the body')
    .option('-H, --header <name:value>', 'add a header (repeatable)', collect)
    .option('-i, --include', 'print status line and headers before the body')
    .option('--paginate', 'read all pages of a list');
  explain(command, {
    notes: [
      'Fields are members of a JSON object: key[sub]=value sets a member of an object, ' +
        'key[]=value adds to a list. With GET, HEAD, OPTIONS and --input they are added to ' +
        'the query. A secret, such as api_key, is taken only from @file or @-. The body of ' +
        '--input is application/json, unless -H content-type names another type.',
      'The answer is printed as it was received, secrets as <redacted>; --json fails for ' +
        'other content. The body of a failed request is printed as well, except with --json, ' +
        '--format, --jq, --paginate and --output. 400 and 422 are exit code 2, 401 and 403 4, ' +
        '404 5, 409 6, 429 7, 5xx 9.',
    ],
    isRaw: true,
    json: () => [
      'the answer of the server',
      ['with --paginate', 'the first page, with the items of all pages'],
    ],
    exits: ['not-found', 'conflict', 'rate-limited', 'unknown-outcome', 'unsupported'],
    examples: {
      "acs api GET /api/v1/sandboxes/search --paginate --jq '.items[].id'":
        'filter all pages with a jq expression',
      'acs api PATCH /api/v1/app-conversations/1f0c -f title=Release -F public=true':
        'send a JSON object',
    },
  });
  command.action((method: RawMethod, path: string, options: ApiOptions) =>
    callServer(method, path, options, ctx),
  );
}

async function callServer(
  method: RawMethod,
  path: string,
  options: ApiOptions,
  ctx: Context,
): Promise<void> {
  const { include, paginate, input } = options;
  const { format, output } = ctx.globals;
  ctx.out.check(null, 'document');
  const isForPeople = format === undefined;
  const exclusions: [one: boolean | undefined, other: boolean | undefined, why: string][] = [
    [
      include,
      !isForPeople,
      '--include prints headers, which are not JSON: omit --json and --format',
    ],
    [
      include,
      paginate,
      '--include and --paginate cannot be combined: headers belong to one answer',
    ],
    [paginate, method !== 'GET', '--paginate reads a list: it needs GET'],
    [method === 'HEAD', !isForPeople, 'an answer to HEAD has no body: use --include'],
    [
      input !== undefined,
      ['GET', 'HEAD'].includes(method),
      `${method} has no body: --input is for the others`,
    ],
  ];
  const excluded = exclusions.find(([one, other]) => one && other);
  if (excluded !== undefined) throw new AppError('usage', excluded[2]);

  const address = addressOf(path);
  const { query, headers, body } = await contentOf(method, options, ctx);
  const { server, path: below } = await relativeTo(address, ctx);
  const mark = below.includes('?') ? '&' : '?';
  const call = {
    method,
    path: query.size === 0 ? below : `${below}${mark}${query.toString()}`,
    headers,
    body,
  };
  if (paginate) return await printPages(server, call, ctx);

  const answer = await server.call(call);
  if (answer.error !== null && (!isForPeople || output !== undefined)) throw answer.error;
  if (isForPeople) await printAnswer(answer, include === true, ctx);
  else await ctx.out.documents(documentsOf(answer));
  if (answer.error !== null) throw answer.error;
}

async function printAnswer(answer: RawAnswer, include: boolean, { out }: Context): Promise<void> {
  const { status, headers, json, bytes } = answer;
  if (include) {
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
    await out.raw(`${head}\n${lines.join('')}\n`);
  }
  if (out.onTerminal && json !== undefined) return await out.raw(jsonDocument(json));
  await out.raw(bytes);
  // On a terminal the prompt that follows belongs on a line of its own.
  if (out.onTerminal && bytes.length > 0 && bytes.at(-1) !== 0x0a) await out.raw('\n');
}

function documentsOf({ bytes, json, contentType, status }: RawAnswer): unknown[] {
  if (json !== undefined) return [json];
  if (bytes.length === 0) return [];
  const type = contentType === '' ? 'without a type' : `of type ${cut(contentType, 80)}`;
  throw new AppError('server', `the answer (status ${status}) is ${type}, not JSON`, {
    hint: 'print it as it is: omit --json, --format, --jq and --paginate',
  });
}

interface ListPage extends Page<unknown> {
  withItems: (items: unknown[]) => unknown;
}

async function printPages(server: Server, call: RawCall, ctx: Context): Promise<void> {
  const isStream = ctx.globals.format === 'ndjson';
  let first: ListPage | null = null;
  const all: unknown[] = [];
  // An item without an id is never a duplicate.
  const idOf = (item: unknown): string => {
    const { id, conversation_id } = (item ?? {}) as { id?: unknown; conversation_id?: unknown };
    const known = id ?? conversation_id;
    return typeof known === 'string' || typeof known === 'number' ? String(known) : '';
  };
  const pages = eachPage(idOf, async (page): Promise<Page<unknown>> => {
    const [pathname = '', query = ''] = call.path.split(/\?(.*)/s);
    const parameters = new URLSearchParams(query);
    if (page !== null) parameters.set('page_id', page);
    const path = page === null ? call.path : `${pathname}?${parameters.toString()}`;
    const answer = await server.call({ ...call, path });
    if (answer.error !== null) throw answer.error;
    const list = listOf(documentsOf(answer)[0]);
    first ??= list;
    return list;
  });
  for await (const items of pages) {
    if (isStream) await ctx.out.documents(items);
    else all.push(...items);
  }
  if (!isStream && first !== null) await ctx.out.documents([(first as ListPage).withItems(all)]);
}

function listOf(document: unknown): ListPage {
  if (Array.isArray(document)) return { items: document, next: null, withItems: (items) => items };
  const page = (typeof document === 'object' && document !== null ? document : {}) as Record<
    string,
    unknown
  >;
  const name = ['items', 'results'].find((each) => Array.isArray(page[each]));
  if (name === undefined) {
    const message = '--paginate: the answer is not a list, and has neither "items" nor "results"';
    throw new AppError('usage', message, { hint: 'omit --paginate' });
  }
  const { next_page_id: next } = page;
  const hasNext = (typeof next === 'string' && next !== '') || typeof next === 'number';
  return {
    items: page[name] as unknown[],
    next: hasNext ? String(next) : null,
    withItems: (items) => ({
      ...page,
      [name]: items,
      ...('next_page_id' in page ? { next_page_id: null } : {}),
    }),
  };
}

const WITHOUT_BODY: readonly RawMethod[] = ['GET', 'HEAD', 'OPTIONS'];

async function contentOf(
  method: RawMethod,
  { header = [], rawField = [], field = [], input }: ApiOptions,
  ctx: Context,
): Promise<Pick<RawCall, 'headers' | 'body'> & { query: URLSearchParams }> {
  const { 'content-type': contentType = 'application/json', ...headers } = headersOf(header);
  const inQuery = input !== undefined || WITHOUT_BODY.includes(method);
  const fields: Field[] = [];
  for (const text of rawField) fields.push(await readField('-f', text, inQuery, ctx));
  for (const text of field) fields.push(await readField('-F', text, inQuery, ctx));
  const query = new URLSearchParams(
    inQuery ? fields.map(({ name, value }): [string, string] => [name, String(value)]) : [],
  );
  let bytes: Uint8Array | null = null;
  if (input !== undefined) {
    bytes = await readInput(ctx, input);
    if (contentType === 'application/json') checkJson(bytes, input);
  } else if (!inQuery && fields.length > 0) {
    bytes = Buffer.from(JSON.stringify(bodyOf(fields)));
  }
  return { headers, query, body: bytes === null ? null : { contentType, bytes } };
}

function checkJson(bytes: Uint8Array, input: string): void {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new AppError('usage', `${nameOfInput(input)} is not JSON`, {
      hint: "name the type of other content: -H 'content-type: text/plain'",
    });
  }
}

const OF_CONNECTION = (
  'accept-encoding connection content-length expect host keep-alive te trailer ' +
  'transfer-encoding upgrade'
).split(' ');

function headersOf(texts: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const text of texts) {
    const [, written, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    if (written === undefined || value === undefined) {
      throw new AppError('usage', '-H needs name:value', {
        hint: "for example -H 'accept: text/plain'",
      });
    }
    const name = written.toLowerCase();
    if (isSecretName(name, 'header')) {
      throw new AppError(
        'usage',
        `${name} is a secret, which is not accepted on the command line`,
        {
          hint:
            'the key of the server is given with --api-key-file <path|->, a profile or ' +
            'ACS_API_KEY',
        },
      );
    }
    if (OF_CONNECTION.includes(name)) throw new AppError('usage', `${name} is set by acs itself`);
    if (!/^[\t\x20-\x7e\xa1-\xff]*$/.test(value)) {
      throw new AppError('usage', `the value of ${name} has a character that no header can carry`);
    }
    if (headers.has(name)) throw new AppError('usage', `the header ${name} is given twice`);
    headers.set(name, value);
  }
  return Object.fromEntries(headers);
}

/** A path with its query, which begins with a slash, or a URL that has to be one of the server. */
function addressOf(text: string): string {
  const bad = /[\x00-\x20\x7f-\xa0\u2028\u2029\\#]/.exec(text)?.[0];
  if (bad !== undefined) {
    const code = bad.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    const names: Record<string, string> = { ' ': 'a space', '\\': '"\\"', '#': '"#"' };
    const what = names[bad] ?? `the character U+${code}`;
    throw new AppError('usage', `a path with ${what} is not sent`, {
      hint: 'in a value of the query write it as %XX',
    });
  }
  const [, query = ''] = text.split(/\?(.*)/s);
  const secret = [...new URLSearchParams(query)].find(
    ([key, value]) => value !== '' && isSecretName(key, 'query'),
  )?.[0];
  if (secret !== undefined) throw secretGiven(secret);
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const [pathname = ''] = (isUrl ? text.replace(/^[^/]*\/\/[^/?]*/, '') : text).split('?');
  // An encoded dot counts as a dot.
  if (pathname.split('/').some((part) => /^\.{1,2}$/.test(part.replace(/%2e/gi, '.')))) {
    throw new AppError('usage', 'a path with the parts "." or ".." is not sent', {
      hint: 'write the path that is meant',
    });
  }
  if (isUrl) return text;
  const hint = 'write a path such as /api/v1/users/me';
  if (text === '') throw new AppError('usage', 'the path is empty', { hint });
  if (text.startsWith('//'))
    throw new AppError('usage', 'a path begins with one slash: "//" names a host', { hint });
  return text.startsWith('/') ? text : `/${text}`;
}

/** Throws `usage` for another server before a request, unless the URL of `local` is not known. */
async function relativeTo(
  address: string,
  ctx: Context,
): Promise<{ server: Server; path: string }> {
  const isPath = address.startsWith('/');
  const { base_url: planned } = isPath ? { base_url: null } : await ctx.servers.plan();
  if (planned !== null) pathBelow(planned, address);
  const server = await ctx.servers.active('calls');
  return { server, path: isPath ? address : pathBelow(server.info.base_url, address) };
}

function pathBelow(baseUrl: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const isOfServer = url?.origin === base.origin && url.username === '' && url.password === '';
  if (url === null || !isOfServer || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    throw new AppError('usage', 'the URL does not begin with that of the active server', {
      hint: `the key is sent only to ${baseUrl}; choose the server with --profile or --base-url`,
    });
  }
  const below = url.pathname.slice(prefix.length);
  return (below === '' ? '/' : below) + url.search;
}

function secretGiven(name: string): AppError {
  return new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
    hint: `write -F ${name}=@<file>, or -F ${name}=@- for stdin`,
  });
}

type Scalar = string | number | boolean | null;

interface Field {
  name: string;
  /** The name in parts: `a[b][]` is a, b and the empty text, which adds to a list. */
  path: readonly string[];
  value: Scalar;
}

const withoutSecrets = memberRedaction((text) => text);

async function readField(
  flag: '-f' | '-F',
  text: string,
  inQuery: boolean,
  ctx: Context,
): Promise<Field> {
  const [, name, written = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new AppError('usage', `${flag} needs key=value`);
  const path = inQuery ? [name] : pathOf(name);
  const isFile = flag === '-F' && written.startsWith('@');
  let value: Scalar = written;
  if (isFile) value = await readText(ctx, written.slice(1));
  else if (flag === '-F') value = typed(name, written);
  const field = { name, path, value };
  if (!isSecret(field, inQuery)) return field;
  if (!isFile) throw secretGiven(name);
  ctx.terminal.keepSecret(field.value);
  return field;
}

/** By its name, or by that of a member in its path. Only a text can be a secret. */
function isSecret(field: Field, inQuery: boolean): field is Field & { value: string } {
  const { name, value } = field;
  if (typeof value !== 'string' || value === '') return false;
  const body = bodyOf([field]);
  return isSecretName(name, inQuery ? 'query' : 'member') || withoutSecrets(body) !== body;
}

function pathOf(name: string): string[] {
  const [, first = '', rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? [];
  const below = [...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, part = '']) => part);
  // Only the last part may be empty: which item of a list is meant would not be clear.
  if (first !== '' && !below.slice(0, -1).includes('')) return [first, ...below];
  throw new AppError('usage', `${name} is not the name of a member`, {
    hint: 'write key, key[sub] or key[]; send other bodies with --input',
  });
}

function typed(name: string, text: string): Scalar {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
  const number = Number(text);
  if (/^-?\d+$/.test(text) ? Number.isSafeInteger(number) : Number.isFinite(number)) return number;
  throw new AppError('usage', `${name}: ${cut(text, 40)} is too large for a number`, {
    hint: 'send it as text with -f, or the whole body with --input',
  });
}

function bodyOf(fields: readonly Field[]): object {
  // Without a prototype `__proto__` is a name like any other.
  const root = Object.create(null) as Record<string, unknown>;
  for (const { name, path, value } of fields) {
    const isItem = path.length > 1 && path.at(-1) === '';
    const names = isItem ? path.slice(0, -1) : path;
    const member = names.at(-1) ?? '';
    const tree = names.slice(0, -1).reduce((above, part) => {
      if (!(part in above)) above[part] = Object.create(null);
      const below = above[part];
      if (typeof below !== 'object' || below === null || Array.isArray(below)) throw twice(name);
      return below as Record<string, unknown>;
    }, root);
    const before = tree[member];
    if (isItem && Array.isArray(before)) before.push(value);
    else if (member in tree) throw twice(name);
    else tree[member] = isItem ? [value] : value;
  }
  return root;
}

function twice(name: string): AppError {
  return new AppError('usage', `${name} sets a member that another field has set`);
}
