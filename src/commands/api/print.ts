/** How `acs api` prints an answer. */
import { STATUS_CODES } from 'node:http';
import type { Context } from '../../context.ts';
import type { RawAnswer } from '../../domain/raw-call.ts';
import { AppError } from '../../errors.ts';
import { jsonDocument } from '../../output/json.ts';

/** Throws the error of a status that is not a success, after its body was printed where there is no --format. */
export async function printAnswer(answer: RawAnswer, { include }: { include?: boolean }, ctx: Context): Promise<void> {
  const isForPeople = ctx.globals.format === undefined;
  if (answer.error !== null && (!isForPeople || ctx.globals.output !== undefined)) throw answer.error;
  if (include) await ctx.out.raw(headText(answer));
  if (!isForPeople) await ctx.out.documents(documentsOf(answer));
  else if (ctx.out.onTerminal && answer.json !== undefined) await ctx.out.raw(jsonDocument(answer.json));
  else await printBytes(answer.bytes, ctx);
  if (answer.error !== null) throw answer.error;
}

/** None for an empty answer. */
export function documentsOf({ bytes, json, contentType, status }: RawAnswer): unknown[] {
  if (json !== undefined) return [json];
  if (bytes.length === 0) return [];
  const type = contentType === '' ? 'without a type' : `of type ${contentType.slice(0, 80)}`;
  throw new AppError('server', `the answer (status ${status}) is ${type}, not JSON`, {
    hint: 'print it as it is: omit --json, --format, --jq and --paginate',
  });
}

async function printBytes(bytes: Uint8Array, ctx: Context): Promise<void> {
  await ctx.out.raw(bytes);
  // On a terminal the prompt that follows belongs on a line of its own.
  if (ctx.out.onTerminal && bytes.length > 0 && bytes.at(-1) !== 0x0a) await ctx.out.raw('\n');
}

function headText({ status, headers }: RawAnswer): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd() + `\n${lines.join('')}\n`;
}
