import type { Command } from 'commander';
import { isUtf8 } from 'node:buffer';
import type { Context } from '../context.ts';
import { isOfKind } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { type ConversationDiff, EditLog, RECONSTRUCTED } from '../../domain/edits.ts';
import { changedFiles, patchFiles } from '../../domain/patch.ts';
import type { PageRecord } from '../../page/page.ts';
import { explain } from '../shared/declare.ts';
import { withLateProgress } from '../shared/late-progress.ts';
import { oneOf } from '../shared/option-parsers.ts';
import { openConversation } from './find-conversation.ts';
import { compareWorkspace } from './diff.ts';
import { needsResume, resumeSandboxNow } from './resume-sandbox.ts';

interface ExportOptions {
  as: 'md' | 'html';
  resume?: boolean;
}

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'the conversation')
    .requiredOption('--as <md|html>', 'the form of the export', oneOf('md', 'html'))
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'Writes to stdout, or to the file of --output, which replaces an existing file once ' +
        'the export is complete. The keys of the server and the sandbox, and values with a ' +
        'name or a form of secrets, are redacted, also in the diff; other secrets are not.',
      {
        title: 'Forms',
        items: [
          [
            'md',
            'Markdown for a pull request: outcome, cost, answer, commands and diff, at most ' +
              '60,000 characters',
          ],
          [
            'html',
            'one page for a browser: timeline, commands, outputs, diffs and cost; no ' +
              'script, no request',
          ],
        ],
      },
      'The diff is that of the workspace while its sandbox runs; the local service also ' +
        'reads that of a paused one. Otherwise the diff is reconstructed from the edit events ' +
        'and marked as such, and does not include the changes made by commands.',
    ],
    exits: ['not-found', 'conflict'],
    examples: {
      'acs conv export @last --as html -o run.html': 'write the last conversation as a page',
      'acs conv export @last --as md | gh pr create --title Change --body-file -':
        'open a pull request with it',
    },
  });
  command.action((id: string, options: ExportOptions) => exportConversation(id, options, ctx));
}

async function exportConversation(
  word: string,
  options: ExportOptions,
  ctx: Context,
): Promise<void> {
  ctx.out.check(null, 'raw');
  const { server, conversation } = await openConversation(ctx, word);
  const { resume = false } = options;
  if (needsResume(conversation) && (resume || !readsStopped(server))) {
    const message =
      `the sandbox of conversation ${conversation.id} is paused. Resume it for the complete ` +
      'diff?';
    const ask = async () =>
      await (await ctx.terminal.prompt()).confirm({ message, default: 'yes' });
    if (resume || (ctx.terminal.interactive && (await ask())))
      await resumeSandboxNow(ctx, server, conversation);
    else
      await ctx.warn(
        'the sandbox is paused, and its workspace is not compared; --resume starts it',
      );
  }
  const write = async (update: (text: string) => void): Promise<void> => {
    const record = await readRecord(ctx, server, conversation.id, (count) =>
      update(`exporting: ${count} events read`),
    );
    const parts =
      options.as === 'md'
        ? (await import('./export-md.ts')).mdParts(record)
        : (await import('../../page/page.ts')).pageParts(record);
    for await (const part of parts) await ctx.out.raw(part);
  };
  // What is written to the terminal shows that the export goes on.
  if (ctx.out.onTerminal) await write(() => undefined);
  else await withLateProgress(ctx, 'exporting', write);
}

async function readRecord(
  ctx: Context,
  server: Server,
  id: string,
  onRead: (events: number) => void,
): Promise<PageRecord> {
  const conversation = ctx.out.redacted(await server.conversations.getComplete(id));
  const edits = new EditLog();
  let count = 0;
  return {
    conversation,
    async *events() {
      for await (const page of server.conversations.eventPages(id, { order: 'oldest-first' })) {
        const events = page.map((event) => ctx.out.redacted(event));
        for (const event of events) edits.add(event);
        onRead((count += events.length));
        yield events;
      }
    },
    answer: async () => ctx.out.redacted((await server.conversations.result(id))?.text ?? null),
    async diff() {
      const diff = withoutSecrets(await readDiff(ctx, server, conversation, edits), (text) =>
        server.redact(text),
      );
      for (const omission of diff.omissions)
        await ctx.warn(
          omission === RECONSTRUCTED
            ? `the diff is ${omission}`
            : `left out of the diff: ${omission}`,
        );
      return diff;
    },
  };
}

function readsStopped(server: Server): boolean {
  return server.presence('stored-changes') === 'present';
}

/** The workspace cannot be read; the events can. */
const isWithoutWorkspace = isOfKind('conflict', 'not-found', 'network', 'server', 'unsupported');

async function readDiff(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  edits: EditLog,
): Promise<ConversationDiff> {
  const isStopped = needsResume(conversation) && readsStopped(server);
  const { sandbox_status, dialect } = conversation;
  if (sandbox_status === 'running' || dialect === 'agent' || isStopped) {
    try {
      if (isStopped) {
        const patch = await server.conversations.storedPatch(conversation.id);
        const files = [...patchFiles(patch).values()];
        return { source: 'workspace', files, omissions: [], patch: Buffer.from(patch) };
      }
      const diff = await compareWorkspace(ctx, server, conversation.id);
      return {
        source: 'workspace',
        files: changedFiles(diff),
        omissions: diff.omissions,
        patch: diff.patch,
      };
    } catch (error) {
      if (!isWithoutWorkspace(error)) throw error;
      // An answer that is not a diff does not mean that the workspace is unreadable.
      if ((error.details.status ?? 500) < 300) throw error;
      await ctx.warn(`the workspace could not be compared: ${error.message}`);
    }
  }
  return await edits.diff(conversation);
}

/** Bytes that are not UTF-8 stay as they are: paths and content may be in any encoding. */
function withoutSecrets(
  diff: ConversationDiff,
  redact: (text: string) => string,
): ConversationDiff {
  const encoding = isUtf8(diff.patch) ? 'utf8' : 'latin1';
  const text = Buffer.from(diff.patch).toString(encoding);
  const redacted = redact(text);
  const omissions = diff.omissions.map(redact);
  const files = diff.files.map((file) => ({ ...file, path: redact(file.path) }));
  if (redacted === text) return { ...diff, files, omissions };
  return {
    ...diff,
    files,
    omissions: [...omissions, 'secrets: they are redacted, so that the patch may not apply'],
    patch: Buffer.from(redacted, encoding),
  };
}
