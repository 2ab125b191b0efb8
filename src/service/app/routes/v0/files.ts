/** Files in the workspace of a conversation, over V0 (interface section 3.4). They are read inside the sandbox. */
import path from 'node:path';
import type { Context } from 'hono';
import type { ZipMember } from '../../../../archive/zip.ts';
import { gitDiffQuery, listFilesQuery, selectFileQuery } from '../../../../protocol/v0/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { jsonOf, textOf, type AgentAnswer } from '../../../sandboxes/agent-client.ts';
import { HttpError, json } from '../../../http/answer.ts';
import { readForm, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { workspacePath } from '../../workspace-path.ts';
import { reached, withRuntime } from './known.ts';

export function fileHandlersV0(context: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/conversations/{conversation_id}/list-files': async (c) => json(await listFiles(context, c)),
    'GET /api/conversations/{conversation_id}/select-file': (c) => selectFile(context, c),
    'GET /api/conversations/{conversation_id}/zip-directory': (c) => zipDirectory(context, c),
    'GET /api/conversations/{conversation_id}/git/changes': async (c) => json(await gitChanges(context, c)),
    'GET /api/conversations/{conversation_id}/git/diff': async (c) => {
      const { path: given } = readQuery(c, gitDiffQuery);
      const { row } = withRuntime(context, c);
      return json(await asked(context, row, '/api/git/diff', { path: workspacePath(row, given) }));
    },
    'POST /api/conversations/{conversation_id}/upload-files': async (c) => json(await uploadFiles(context, c)),
  };
}

function ask(
  context: AppContext,
  row: ConversationRow,
  route: string,
  query: Record<string, string>,
): Promise<AgentAnswer> {
  return reached(context.supervisor.send(row.sandbox_id ?? '', { method: 'GET', path: route, query }));
}

async function asked(
  context: AppContext,
  row: ConversationRow,
  route: string,
  query: Record<string, string>,
): Promise<unknown> {
  const answer = await ask(context, row, route, query);
  if (answer.status === 200) return jsonOf(answer);
  throw new HttpError(answer.status < 500 ? answer.status : 502, { error: textOf(answer) });
}

const LETTERS: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };

async function gitChanges(context: AppContext, c: Context): Promise<unknown> {
  const { row } = withRuntime(context, c);
  const changes = (await asked(context, row, '/api/git/changes', { path: workspacePath(row, '.') })) as
    { status: string; path: string }[] | null;
  return (changes ?? []).map((change) => ({ status: LETTERS[change.status] ?? 'M', path: change.path }));
}

/** Runs a command in the sandbox and answers what it wrote. */
async function run(
  context: AppContext,
  row: ConversationRow,
  command: string,
): Promise<{ exitCode: number; text: string }> {
  const body = { command, cwd: workspacePath(row, '.'), timeout: 30 };
  const request = { method: 'POST' as const, path: '/api/bash/execute_bash_command', json: body };
  const answer = await reached(context.supervisor.send(row.sandbox_id ?? '', request));
  if (answer.status !== 200) throw new HttpError(502, { error: textOf(answer) });
  const { exit_code: exitCode, stdout } = jsonOf(answer) as { exit_code: number | null; stdout: string | null };
  return { exitCode: exitCode ?? -1, text: stdout ?? '' };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Names in a folder, folders with a slash at the end. */
async function listFiles(context: AppContext, c: Context): Promise<string[]> {
  const { path: given = '.' } = readQuery(c, listFilesQuery);
  const { row } = withRuntime(context, c);
  const { text } = await run(context, row, `ls -1Ap -- ${quoted(workspacePath(row, given))} 2>/dev/null`);
  const prefix = given === '.' || given === '' ? '' : `${given.replace(/\/+$/, '')}/`;
  return text
    .split('\n')
    .filter((name) => name !== '' && name !== '.git/')
    .map((name) => prefix + name);
}

async function selectFile(context: AppContext, c: Context): Promise<Response> {
  const { file } = readQuery(c, selectFileQuery);
  const { row } = withRuntime(context, c);
  const answer = await ask(context, row, '/api/file/download', { path: workspacePath(row, file) });
  if (answer.status !== 200) {
    throw new HttpError(404, { error: `Error opening file: ${file.slice(0, 300)}: ${textOf(answer)}` });
  }
  if (answer.body.includes(0)) throw new HttpError(415, { error: `Unable to open binary file: ${file.slice(0, 300)}` });
  return json({ code: answer.body.toString('utf8') });
}

const MAX_ZIP_FILES = 5000;
const MAX_ZIP_BYTES = 128 * 1024 * 1024;

/** Every file but git's own, as a zip file. */
async function zipDirectory(context: AppContext, c: Context): Promise<Response> {
  const { row } = withRuntime(context, c);
  const found = await run(context, row, 'find . -name .git -prune -o -type f -print');
  const names = found.text.split('\n').filter((name) => name !== '');
  if (names.length > MAX_ZIP_FILES) throw new HttpError(413, { error: `More than ${MAX_ZIP_FILES} files` });
  const members: ZipMember[] = [];
  let size = 0;
  for (const name of names) {
    const answer = await ask(context, row, '/api/file/download', { path: workspacePath(row, name) });
    if (answer.status !== 200) continue; // removed since it was listed
    size += answer.body.byteLength;
    if (size > MAX_ZIP_BYTES) throw new HttpError(413, { error: 'The workspace is too large for one answer' });
    members.push([name.replace(/^\.\//, ''), new Uint8Array(answer.body)]);
  }
  const { zipStream } = await import('../../../../archive/zip.ts');
  return new Response(zipStream(members), {
    headers: { 'Content-Type': 'application/zip', 'Content-Disposition': 'attachment; filename="workspace.zip"' },
  });
}

interface Uploaded {
  uploaded_files: string[];
  skipped_files: { name: string; reason: string }[];
}

async function uploadFiles(context: AppContext, c: Context): Promise<Uploaded> {
  const { row } = withRuntime(context, c);
  const form = await readForm(c);
  const result: Uploaded = { uploaded_files: [], skipped_files: [] };
  for (const file of form.getAll('files')) {
    if (typeof file === 'string') continue;
    const target = workspacePath(row, path.posix.basename(file.name) || 'file');
    const reason = await uploadOne(context, row, target, file);
    if (reason === null) result.uploaded_files.push(target);
    else result.skipped_files.push({ name: file.name, reason });
  }
  return result;
}

async function uploadOne(
  context: AppContext,
  row: ConversationRow,
  target: string,
  file: File,
): Promise<string | null> {
  const form = new FormData();
  form.set('file', file, path.posix.basename(target));
  const encoded = new Response(form);
  const raw = {
    contentType: encoded.headers.get('content-type') ?? '',
    body: new Uint8Array(await encoded.arrayBuffer()),
  };
  const request = { method: 'POST' as const, path: '/api/file/upload', query: { path: target }, raw };
  const answer = await reached(context.supervisor.send(row.sandbox_id ?? '', request));
  return answer.status < 400 ? null : textOf(answer);
}
