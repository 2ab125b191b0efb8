import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import {
  checkSource,
  nameOf,
  targetOf,
  type SandboxContent,
  type SandboxFiles,
} from '../../domain/sandbox-files.ts';
import { fileDestination } from '../../output/destination.ts';
import { byteSize } from '../../output/render.ts';
import { shellWord } from '../../base/text/shell-quote.ts';
import { GRACE_MS, timeLimit } from '../../runs/deadline.ts';
import { explain } from '../shared/declare.ts';
import { checkWord } from '../shared/resource.ts';
import { findRunning } from './wait-for-status.ts';
import { sandboxes, copiedView, type Copied } from './sandboxes.ts';

export function declareCopy(parent: Command, ctx: Context): void {
  const command = parent
    .command('cp')
    .description('copy files and folders from a sandbox or to it');
  command
    .argument('<src>', 'a path, or <id>:<path> in a sandbox')
    .argument('<dst>', 'the same; one of the two is in a sandbox')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'One side is <id>:<path>, with the id of the sandbox or of a conversation in it. A ' +
        'relative path there begins at the working directory of the sandbox, or at the folder ' +
        'of the repository of that conversation. A path of this machine with a colon needs a ' +
        'slash before it: ./a:b.',
      'As with `cp -r`: into a folder that is there, else under the name of <dst>, whose ' +
        'folder has to be there. Folders are merged, and files of the same name replaced. ' +
        '<folder>/. copies what is in a folder. A file never replaces a folder, nor a folder ' +
        'a file.',
      'A file or folder is written under a temporary name and renamed when it is complete. ' +
        'The executable bit is kept. Links within a folder are copied as links; devices and ' +
        'links that lead out of it are skipped, with a warning.',
      'What git would run is left out of a copy from a sandbox, with a warning: hooks, ' +
        'config and attributes of any repository (.git/hooks, .git/config, ' +
        '.git/info/attributes), and a .git that is a file. A .gitattributes is copied: it ' +
        'names no program.',
      '- is stdin or stdout: the bytes of one file.',
    ],
    json: ({ objectForm }) => [objectForm(copiedView, 'changed')],
    exits: ['not-found', 'conflict', 'unsupported'],
    examples: {
      'acs sandbox cp @last:report.md .': 'copy a file of the last sandbox into this folder',
      'acs sandbox cp ./data @last:': 'copy a folder into its repository',
      'acs sandbox cp @last:src/. ./src': 'copy what is in a folder',
      'acs sandbox cp @last:out.json - | jq .': 'print a file',
    },
  });
  command.action((source: string, target: string, options: { resume?: boolean }) =>
    copy(source, target, options, ctx),
  );
}

/** The side in a sandbox (`id`), and the one on this machine, where `-` is stdin or stdout. */
interface Sides {
  way: 'upload' | 'download';
  id: string;
  path: string;
  local: string;
}

async function copy(
  source: string,
  target: string,
  { resume }: { resume?: boolean },
  ctx: Context,
): Promise<void> {
  const sides = readSides(source, target);
  const isToStdout = sides.way === 'download' && sides.local === '-';
  if (isToStdout) ctx.out.check(null, 'raw');
  else ctx.out.check(copiedView, 'item');
  if (source === '-' && ctx.globals.apiKeyFile === '-') {
    throw new AppError('usage', 'stdin can be read only once in a command', {
      hint: 'use "-" in one place',
    });
  }
  checkWord(sandboxes, sides.id);
  const upload = sides.way === 'upload' ? await readSource(ctx, sides.local) : null;
  const server = await ctx.servers.active();
  const { id, inFolder } = await findRunning(ctx, server, sides.id, {
    resume,
    command: () => `acs sandbox cp ${shellWord(source)} ${shellWord(target)}`,
  });
  const files = await server.sandboxes.files(id);
  const path = inFolder(sides.path);
  try {
    const copied =
      upload === null
        ? await downloadTo(ctx, files, { ...sides, id, path })
        : await uploadTo(ctx, files, upload, { ...sides, id, path });
    if (!isToStdout) await ctx.out.item(copiedView, copied, { changed: true });
  } finally {
    if (files.temporary !== null && ctx.globals.mode === 'live')
      await remove(ctx, server, id, files.temporary);
  }
}

function readSides(source: string, target: string): Sides {
  const [from, to] = [readSide(source), readSide(target)];
  if (from !== null && to !== null) {
    const text = 'both sides name a sandbox; one of them has to be on this machine';
    const hint = 'a path of this machine with a colon needs a slash before it: ./a:b';
    throw new AppError('usage', text, { hint });
  }
  if (from !== null) return { way: 'download', ...from, local: target };
  if (to !== null) return { way: 'upload', ...to, local: source };
  throw new AppError('usage', 'no side names a sandbox: one of them has to be <id>:<path>', {
    hint: 'for example: acs sandbox cp @last:report.md .\nor: acs sandbox cp data.csv @last:data/',
  });
}

/** Null for a path of this machine, as for scp: `./a:b` is one. */
function readSide(text: string): { id: string; path: string } | null {
  if (text === '')
    throw new AppError('usage', 'a path is empty', { hint: 'the current folder is .' });
  // A URL with an id has colons of its own.
  const url = /^https?:\/\/[^/:]+(?::\d+)?\/[^:]+(?=:)/.exec(text)?.[0];
  const colon = url?.length ?? text.indexOf(':');
  if (colon <= 0 || (url === undefined && text.slice(0, colon).includes('/'))) return null;
  return { id: text.slice(0, colon), path: text.slice(colon + 1) || '.' };
}

interface Upload extends SandboxContent {
  from: string;
  /** The name that it gets in a folder; null: none. */
  name: string | null;
  files: number;
  /** The bytes of all files; null: not known before. */
  total: number | null;
  leftOut: readonly string[];
}

async function readSource(ctx: Context, given: string): Promise<Upload> {
  const { fileParts, isPipe, openFolder, statPath } = await import('../../local/files/pack.ts');
  const stream = {
    kind: 'file',
    name: null,
    mode: null,
    bytes: null,
    total: null,
    files: 1,
    leftOut: [],
  } as const;
  if (given === '-') {
    const parts = once(ctx.terminal.io.stdin.raw as AsyncIterable<Uint8Array>);
    return { ...stream, from: '-', parts };
  }
  const info = statPath(given, ctx.local.cwd);
  const { path: from, mode, bytes } = info;
  if (info.kind === 'none') {
    throw new AppError('config', `cannot read ${given}: it does not exist`, {
      hint: from === given ? 'check the path' : `check the path; full path: ${from}`,
    });
  }
  if (isPipe(from)) return { ...stream, from, parts: once(fileParts(from)) };
  const kind = checkSource(info, given);
  const name = nameOf(given);
  if (kind === 'file')
    return {
      ...stream,
      from,
      name,
      mode,
      bytes,
      total: bytes,
      parts: () => fileParts(from, bytes),
    };
  const { bytes: total, ...folder } = await openFolder(from, ctx.signal);
  return { ...stream, kind, from, name, total, ...folder };
}

function once(stream: AsyncIterable<Uint8Array>): () => AsyncIterable<Uint8Array> {
  let isRead = false;
  return () => {
    if (isRead) {
      const text = 'the connection was cut while a stream was sent; it cannot be read again';
      throw new AppError('network', text, { retryable: true });
    }
    isRead = true;
    return stream;
  };
}

function missingIn(path: string, message: string): AppError {
  const hint = path.startsWith('/')
    ? {}
    : { hint: 'a relative path begins at the working directory of the sandbox' };
  return new AppError('not-found', message, hint);
}

async function uploadTo(
  ctx: Context,
  files: SandboxFiles,
  content: Upload,
  { id, path }: Sides,
): Promise<Copied> {
  const missing = (message: string) => missingIn(path, `${message} in the sandbox`);
  const target = await targetOf(content, path, (each) => files.stat(each), missing);
  for (const each of content.leftOut) await ctx.warn(`left out: ${each}`);
  const counter = await countBytes(ctx, `copying to sandbox ${id}`, content.total);
  try {
    const parts = async function* (): AsyncGenerator<Uint8Array, void, void> {
      counter.bytes = 0;
      for await (const part of content.parts()) {
        counter.add(part);
        yield part;
      }
    };
    await files.upload(target, { ...content, parts });
  } finally {
    await counter.done();
  }
  const bytes = content.total ?? counter.bytes;
  return { from: content.from, to: `${id}:${target.path}`, files: content.files, bytes };
}

async function downloadTo(
  ctx: Context,
  files: SandboxFiles,
  { id, path, local }: Sides,
): Promise<Copied> {
  const source = await files.stat(path);
  if (source.kind === 'none') throw missingIn(path, `sandbox ${id} has no ${source.path}`);
  const kind = checkSource(source, path);
  const from = `${id}:${source.path}`;
  const counter = await countBytes(
    ctx,
    `copying from sandbox ${id}`,
    kind === 'file' ? source.bytes : null,
  );
  const receive = (into: (part: Uint8Array) => Promise<void>): Promise<void> =>
    files
      .download(source, (part) => {
        counter.add(part);
        return into(part);
      })
      .then(() => ctx.signal.throwIfAborted())
      .finally(() => counter.done());
  if (local === '-') {
    if (kind === 'folder')
      throw new AppError('usage', `${source.path} is a folder; only a file goes to stdout`);
    await receive((part) => ctx.out.raw(part));
    return { from, to: '-', files: 1, bytes: counter.bytes };
  }
  const { statPath } = await import('../../local/files/pack.ts');
  const missing = (message: string) =>
    new AppError('config', message, { hint: 'create the folder, or choose another one' });
  const named = { kind, name: nameOf(path) };
  const target = await targetOf(named, local, (each) => statPath(each, ctx.local.cwd), missing);
  if (kind === 'folder') {
    const { unpackInto } = await import('../../local/files/unpack.ts');
    const { leftOut, ...unpacked } = await unpackInto(target, receive);
    for (const each of leftOut) await ctx.warn(`left out: ${each}`);
    return { from, to: target.path, ...unpacked };
  }
  const { RUN_BY_GIT, isRunByGit } = await import('../../local/files/git-programs.ts');
  if (isRunByGit(target.path))
    throw new AppError('conflict', `${target.path}: ${RUN_BY_GIT}`, {
      hint: 'nothing was copied; give another name',
    });
  const destination = fileDestination(target.path, ctx.local.cwd, source.mode);
  try {
    // An empty file has no part.
    await destination.write('');
    await receive((part) => destination.write(part));
    await destination.close();
  } catch (error) {
    await destination.abandon();
    throw error;
  }
  return { from, to: target.path, files: 1, bytes: counter.bytes };
}

async function remove(ctx: Context, server: Server, id: string, temporary: string): Promise<void> {
  const limit = timeLimit(ctx, GRACE_MS);
  try {
    const connected = await server.withSignal(limit.signal);
    await (await connected.sandboxes.files(id)).remove(temporary);
  } catch {
    await ctx.warn(`temporary files of the copy may remain in sandbox ${id}: ${temporary}`);
  } finally {
    limit.clear();
  }
}

async function countBytes(ctx: Context, text: string, total: number | null) {
  const progress = ctx.terminal.io.stderr.isTTY ? await ctx.terminal.progress(text) : null;
  return {
    bytes: 0,
    add(part: Uint8Array): void {
      this.bytes += part.length;
      progress?.update(
        `${text}: ${byteSize(this.bytes)}${total === null ? '' : ` of ${byteSize(total)}`}`,
      );
    },
    done: async () => await progress?.done(),
  };
}
