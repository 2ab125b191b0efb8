/** The content of a request of `acs api`, from its flags. No flag takes a secret as its value. */
import type { Context } from '../../context.ts';
import type { RawCall, RawMethod } from '../../domain/raw-call.ts';
import { AppError } from '../../errors.ts';
import { isSecretName } from '../../text/secret-names.ts';
import { readNamedFile } from '../files.ts';
import { bodyOf, readFields } from './fields.ts';

export interface RequestOptions {
  rawField?: string[];
  field?: string[];
  input?: string;
  header?: string[];
}

type Content = Pick<RawCall, 'headers' | 'body'> & { query: URLSearchParams };

const WITHOUT_BODY: readonly RawMethod[] = ['GET', 'HEAD', 'OPTIONS'];
const JSON_TYPE = 'application/json';

/** Reads the files and stdin. Throws `usage` and `config`. */
export async function contentOf(method: RawMethod, options: RequestOptions, ctx: Context): Promise<Content> {
  const { 'content-type': contentType = JSON_TYPE, ...headers } = headersOf(options.header ?? []);
  const place = options.input !== undefined || WITHOUT_BODY.includes(method) ? 'query' : 'body';
  const fields = await readFields(place, options, ctx);
  const query = new URLSearchParams();
  if (options.input !== undefined) {
    const bytes = options.input === '-' ? await ctx.io.stdin.readAll() : await readNamedFile(ctx, options.input);
    if (contentType === JSON_TYPE) checkJson(bytes, options.input);
    for (const { name, value } of fields) query.append(name, String(value));
    return { headers, query, body: { contentType, bytes } };
  }
  if (place === 'query') {
    for (const { name, value } of fields) query.append(name, String(value));
    return { headers, query, body: null };
  }
  if (fields.length === 0) return { headers, query, body: null };
  return { headers, query, body: { contentType, bytes: Buffer.from(JSON.stringify(bodyOf(fields))) } };
}

function checkJson(bytes: Uint8Array, input: string): void {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new AppError('usage', `${input === '-' ? 'stdin' : input} is not JSON`, {
      hint: "name the type of other content: -H 'content-type: text/plain'",
    });
  }
}

/** What the connection itself sets. */
const OF_CONNECTION = [
  ...['accept-encoding', 'connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
];

function headersOf(texts: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const text of texts) {
    const [, written, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    if (written === undefined || value === undefined) {
      throw new AppError('usage', '-H needs name:value', { hint: "for example -H 'accept: text/plain'" });
    }
    const name = written.toLowerCase();
    if (isSecretName(name)) {
      throw new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
        hint: 'the key of the server is given with --api-key-file <path|->, a profile or ACS_API_KEY',
      });
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
