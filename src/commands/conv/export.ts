import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { oneOf } from '../option-parsers.ts';
import { checkWord } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { readRecord, type ExportRecord } from './export/record.ts';
import { findStarted } from './started.ts';

/** What each form is, and what writes it; loaded on use. */
const FORMS = {
  zip: {
    meaning: 'event_<number>_<id>.json for each event, as in the download of a server, meta.json and changes.patch',
    load: async () => (await import('./export/zip.ts')).zipParts,
  },
  ndjson: {
    meaning: 'one JSON object a line: {"type":"conversation",…}, the events as in `conv events`, {"type":"diff",…}',
    load: async () => (await import('./export/ndjson.ts')).ndjsonParts,
  },
  md: {
    meaning: 'Markdown for a pull request: outcome, cost, answer, commands and diff, at most 60,000 characters',
    load: async () => (await import('./export/md.ts')).mdParts,
  },
  html: {
    meaning: 'one page for a browser: timeline, commands, outputs, diffs and cost; no script, no request',
    load: async () => (await import('../../page/page.ts')).pageParts,
  },
} satisfies Record<string, { meaning: string; load: () => Promise<Writer> }>;

/** The bytes of an export, in parts. */
type Writer = (record: ExportRecord) => AsyncIterable<string | Uint8Array>;
type Form = keyof typeof FORMS;

export interface ExportOptions {
  as: Form;
}

const NAMES = Object.keys(FORMS) as [Form, ...Form[]];

export function declareExport(parent: Command, ctx: Context): void {
  const command = parent.command('export').description('write a conversation with its events and its diff to one file');
  command
    .argument('<id>', 'the conversation')
    .requiredOption(`--as <${NAMES.join('|')}>`, 'the form of the export', oneOf(...NAMES));
  explain(command, {
    notes: [
      'Writes to stdout, or to the file of --output, which replaces an existing file once the export is complete. Secrets are redacted.',
      { title: 'Forms', items: NAMES.map((name) => [name, FORMS[name].meaning] as const) },
      'The diff is that of the workspace while its sandbox runs. No sandbox is started for an export: without one the diff is reconstructed from the edit events and marked as such, and does not have the changes made by commands.',
    ],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs conv export @last --as html -o run.html', does: 'write the last conversation as a page' },
      {
        command: 'acs conv export @last --as md | gh pr create --title Change --body-file -',
        does: 'open a pull request with it',
      },
      {
        command: `acs conv export @last --as ndjson | jq 'select(.type == "event") | .text'`,
        does: 'print a line for each event',
      },
    ],
  });
  command.action((id: string, options: ExportOptions) => exportConversation(id, options, ctx));
}

export async function exportConversation(word: string, { as }: ExportOptions, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  if (as === 'zip') refuseTerminal(ctx);
  checkWord(conversations, word);
  const server = await ctx.server();
  const { id } = await findStarted(ctx, server, word);
  const [parts, record] = await Promise.all([FORMS[as].load(), readRecord(ctx, server, id)]);
  for await (const part of parts(record)) await ctx.out.raw(part);
}

function refuseTerminal({ io, globals }: Context): void {
  if (!io.stdout.isTTY || (globals.output !== undefined && globals.output !== '-')) return;
  throw new AppError('usage', 'a zip archive is not printed on a terminal', {
    hint: 'name a file: -o run.zip, or redirect stdout',
  });
}
