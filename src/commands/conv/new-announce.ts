/** What `conv new` prints in each format: the id when it exists, the record or the outcome at the end. */
import { access, constants, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { blankConversation, type Conversation } from '../../domain/conversation.ts';
import { NO_EVIDENCE, outcomeOf, type TrackedRun } from '../../runs/outcome.ts';
import { AppError, EXIT_CODES } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { rememberLast } from '../resource/find.ts';
import { NOT_READ } from '../../runs/endings.ts';
import { showOutcome } from './follow.ts';
import type { NewOptions } from './new-options.ts';
import { conversationView, idOf } from './view.ts';
import { endAs } from './waiting.ts';

/** `changed`: false when the conversation was there before. */
export type AnnounceOptions = Pick<NewOptions, 'idFile' | 'follow'> & { changed: boolean };

export class Announcer {
  id: string | null = null;
  startTaskId: string | null = null;
  private readonly ctx: Context;
  private readonly server: Server;
  private readonly options: AnnounceOptions;

  constructor(ctx: Context, server: Server, options: AnnounceOptions) {
    this.ctx = ctx;
    this.server = server;
    this.options = options;
  }

  isNews(id: string | null): boolean {
    return id !== null && this.id !== id;
  }

  /** Called with each step; names the id once, and again when the server chose another one than it was sent. */
  async known(id: string | null, startTaskId: string | null, url: string | null): Promise<void> {
    this.startTaskId = startTaskId || this.startTaskId; // V0 has none
    if (id === null || this.id === id) return;
    const shownUrl = url ?? this.urlOf(id);
    const { id: before } = this;
    await this.print(id, shownUrl, shownUrl === null ? '' : `  ${shownUrl}`);
    if (before !== null) this.refuseSecondId(before, id);
  }

  /** A program that reads stdout has the other id already. */
  private refuseSecondId(before: string, id: string): void {
    if (this.ctx.globals.format !== 'id' && this.ctx.globals.format !== 'ndjson') return;
    throw new AppError('server', `the server ignored the id ${before} and started conversation ${id}`, {
      hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
      data: { conversation_id: id, requested: before, received: id },
    });
  }

  /** The same start was made before: reports its conversation instead of a new one. */
  async existing({ id, url }: Conversation): Promise<void> {
    await this.print(id, url, ' exists already; nothing was sent');
  }

  private async print(id: string, shownUrl: string | null, remark: string): Promise<void> {
    const isFirst = this.id === null;
    this.id = id;
    if (this.ctx.globals.mode !== 'dry-run') {
      await this.writeIdFile(id);
      await rememberLast(this.ctx, this.server, id);
    }
    await this.ctx.notice(`conversation ${id}${remark}`);
    if (!isFirst) return;
    if (this.ctx.globals.format === 'id') await this.ctx.out.item(conversationView, blankConversation(id, 'starting'));
    if (this.ctx.globals.format === 'ndjson') await this.ctx.out.record({ type: 'started', id, url: shownUrl });
  }

  /** The command returns while the run continues. */
  async started(conversation: Conversation): Promise<void> {
    if (this.ctx.globals.format === 'id' && this.id !== null) return;
    const id = conversation.id || (this.id ?? '');
    if (id === '') await this.ctx.notice(`start task ${conversation.start_task_id ?? ''}: acs conv wait takes its id`);
    await this.ctx.out.item(conversationView, { ...conversation, id }, { changed: this.options.changed });
  }

  async ended(conversation: Conversation, tracked: TrackedRun): Promise<void> {
    const { format } = this.ctx.globals;
    const { changed } = this.options;
    const { outcome, failure } = tracked;
    if (format === 'ndjson') await this.ctx.out.record({ ...outcome });
    else if (format === 'json')
      await this.ctx.out.item(conversationView, conversation, { changed, outcome, ...errorMember(failure) });
    else if (this.options.follow && format !== 'id') await showOutcome(this.ctx, outcome);
    else {
      if (format !== 'id') await this.ctx.out.item(conversationView, conversation, { changed });
      // A row of a conversation has no place for it.
      if (outcome.exit_code === EXIT_CODES.failed && outcome.reason !== null)
        await this.ctx.notice(`${outcome.status}: ${outcome.reason.text}`);
    }
    await endAs(this.ctx, tracked);
  }

  /**
   * The start failed, ran out of time or was interrupted after the server had taken it, or may have: `sentId` is the
   * id it was sent with, `after` the conversation as it stands after a stop.
   */
  async failed(failure: AppError, { sentId, after }: { sentId?: string; after: Conversation | null }): Promise<void> {
    const { format } = this.ctx.globals;
    // The conversation was never created; the start task has the reason.
    if (failure.kind === 'failed' && this.startTaskId !== null)
      await rememberLast(this.ctx, this.server, this.startTaskId);
    const code = typeof failure.details.data?.['reason'] === 'string' ? failure.details.data['reason'] : failure.kind;
    const open = sentId === undefined ? 'starting' : NOT_READ;
    const status = failure.kind === 'failed' ? 'failed' : open;
    const record: Conversation = {
      ...(after ?? { ...blankConversation(this.id ?? sentId ?? '', status), dialect: this.server.info.dialect }),
      start_task_id: this.startTaskId,
      reason: { code, text: failure.message },
    };
    const outcome = outcomeOf({ ...record, id: idOf(record) }, NO_EVIDENCE, failure.exitCode, record.reason);
    if (format === 'json') {
      await this.ctx.out.item(conversationView, record, { changed: true, outcome, ...errorMember(failure) });
    }
    if (format === 'ndjson') await this.ctx.out.record({ ...outcome });
    if (format === 'json' || format === 'ndjson') await this.ctx.out.close();
  }

  private async writeIdFile(id: string): Promise<void> {
    const { idFile } = this.options;
    if (idFile === undefined) return;
    try {
      await writeFile(path.resolve(this.ctx.cwd, idFile), `${id}\n`);
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? 'it failed';
      await this.ctx.warn(`could not write ${idFile}: ${why}; the conversation continues`);
    }
  }

  /** The page of the conversation, before its record exists; null where the server has no pages. */
  private urlOf(id: string): string | null {
    const { info, presence } = this.server;
    return presence('web-interface') === 'absent' ? null : `${info.base_url}/conversations/${id}`;
  }
}

function errorMember(failure: AppError | null): { error?: { code: string; message: string } } {
  return failure === null ? {} : { error: { code: failure.kind, message: failure.message } };
}

/** Checked before anything is started, because a script reads the id from that file. Throws `config`. */
export async function checkIdFile(ctx: Context, idFile: string): Promise<void> {
  const file = path.resolve(ctx.cwd, idFile);
  const existing = await stat(file).catch(() => null);
  if (existing?.isDirectory()) throw new AppError('config', `--id-file: ${idFile} is a folder`);
  try {
    await access(existing === null ? path.dirname(file) : file, constants.W_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why = code === 'ENOENT' ? 'its folder does not exist' : (code ?? 'unknown error');
    throw new AppError('config', `--id-file: cannot write ${idFile}: ${why}`, {
      hint: 'nothing was started',
      cause: error,
    });
  }
}
