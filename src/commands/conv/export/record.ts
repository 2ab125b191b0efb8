/** What an export has of a conversation, whatever its form: the record, the events and the diff, without secrets. */
import { isUtf8 } from 'node:buffer';
import type { Context } from '../../../context.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import {
  type ConversationDiff,
  createEditLog,
  type EditLog,
  RECONSTRUCTED,
  reconstructedDiff,
} from '../../../domain/edits.ts';
import type { ConversationEvent } from '../../../domain/event.ts';
import { changedFiles } from '../../../domain/patch.ts';
import { isAppError, type ErrorKind } from '../../../errors.ts';
import type { Server } from '../../../servers/server.ts';
import { diffWithProgress } from '../diff-progress.ts';

export interface ExportRecord {
  conversation: Conversation;
  /** All events, oldest first, page by page. To be read once. */
  events(): AsyncGenerator<ConversationEvent[], void, void>;
  /** The final answer to the latest message; null: there is none. */
  answer(): Promise<string | null>;
  /** To be called when all events have been read. */
  diff(): Promise<ConversationDiff>;
}

export async function readRecord(ctx: Context, server: Server, id: string): Promise<ExportRecord> {
  const conversation = ctx.out.redacted(await server.conversations.getComplete(id));
  const edits = createEditLog();
  return {
    conversation,
    async *events() {
      for await (const page of server.conversations.eventPages(id, { order: 'oldest-first' })) {
        const events = page.map((event) => ctx.out.redacted(event));
        for (const event of events) edits.add(event);
        yield events;
      }
    },
    answer: async () => ctx.out.redacted(await server.conversations.result(id)),
    async diff() {
      const diff = withoutSecrets(await readDiff(ctx, server, conversation, edits), (text) => ctx.redact(text));
      for (const omission of diff.omissions) {
        await ctx.warn(omission === RECONSTRUCTED ? `the diff is ${omission}` : `left out of the diff: ${omission}`);
      }
      return diff;
    },
  };
}

/** With these the workspace cannot be read, and the events can. */
const WITHOUT_WORKSPACE: ReadonlySet<ErrorKind> = new Set([
  'conflict',
  'not-found',
  'network',
  'server',
  'unsupported',
]);

/** From the sandbox while it runs; it is not started for this. */
async function readDiff(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  edits: EditLog,
): Promise<ConversationDiff> {
  if (conversation.sandbox_status === 'running') {
    try {
      const diff = await diffWithProgress(ctx, server, conversation.id);
      return { source: 'workspace', files: changedFiles(diff), omissions: diff.omissions, patch: diff.patch };
    } catch (error) {
      if (!isAppError(error) || !WITHOUT_WORKSPACE.has(error.kind)) throw error;
      await ctx.warn(`the workspace could not be compared: ${error.message}`);
    }
  }
  return await reconstructedDiff(edits, conversation);
}

/** Bytes that are not UTF-8 stay as they are: paths and content may be in any encoding. */
function withoutSecrets(diff: ConversationDiff, redact: (text: string) => string): ConversationDiff {
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
