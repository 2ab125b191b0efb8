/** What lies in the workspace of a conversation, over V0 (interface section 3.4). Read inside the sandbox, always. */
import path from 'node:path';
import type { Context } from 'hono';
import { zipSync, type Zippable } from 'fflate';
import {
  gitDiffQuery,
  listFilesQuery,
  rememberPromptQuery,
  selectFileQuery,
} from '../../../../protocol/v0/requests.ts';
import type { ConversationRow } from '../../../storage/conversations.ts';
import { jsonOf, textOf, type AgentAnswer } from '../../../sandboxes/agent-client.ts';
import { HttpAnswer, json, readBody, readQuery, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { placeIn } from '../../workspace-path.ts';
import { findConversation, knownConversation, reached, withRuntime } from './known.ts';
import type { Route } from '../../route.ts';

export function fileRoutes(context: AppContext): Route[] {
  const get = (route: string, handle: Route['handle']): Route => ({
    method: 'GET',
    path: `/api/conversations/{conversation_id}/${route}`,
    handle,
  });
  return [
    get('list-files', async (c) => json(await listFiles(context, c))),
    get('select-file', (c) => selectFile(context, c)),
    get('zip-directory', (c) => zipDirectory(context, c)),
    get('git/changes', async (c) => json(await gitChanges(context, c))),
    get('git/diff', async (c) => {
      const { path: given } = readQuery(c, gitDiffQuery);
      const { row } = withRuntime(context, c);
      return json(await asked(context, row, '/api/git/diff', { path: placeIn(row, given) }));
    }),
    get('config', (c) => {
      // The one route here that knows conversations of V1 too, as on genuine servers.
      const row = findConversation(context, c) ?? knownConversation(context, c);
      // Without containers a genuine server has no name for a runtime either.
      return json({ runtime_id: null, session_id: row.id });
    }),
    get('vscode-url', (c) => json({ vscode_url: withRuntime(context, c) && null })),
    get('web-hosts', (c) => json({ hosts: withRuntime(context, c) && {} })),
    get('microagents', (c) => json({ microagents: knownConversation(context, c) && [] })),
    get('remember-prompt', (c) => {
      readQuery(c, rememberPromptQuery);
      knownConversation(context, c);
      throw refuse(501, 'The local service has no model that could write this prompt');
    }),
    {
      method: 'POST',
      path: '/api/conversations/{conversation_id}/upload-files',
      handle: async (c) => json(await uploadFiles(context, c)),
    },
  ];
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
  throw new HttpAnswer(answer.status < 500 ? answer.status : 502, { error: textOf(answer) });
}

const LETTERS: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };

async function gitChanges(context: AppContext, c: Context): Promise<unknown> {
  const { row } = withRuntime(context, c);
  const changes = (await asked(context, row, '/api/git/changes', { path: placeIn(row, '.') })) as
    { status: string; path: string }[] | null;
  return (changes ?? []).map((change) => ({ status: LETTERS[change.status] ?? 'M', path: change.path }));
}

/** Runs a command in the sandbox and answers what it wrote. */
async function run(
  context: AppContext,
  row: ConversationRow,
  command: string,
): Promise<{ exitCode: number; text: string }> {
  const body = { command, cwd: placeIn(row, '.'), timeout: 30 };
  const request = { method: 'POST' as const, path: '/api/bash/execute_bash_command', json: body };
  const answer = await reached(context.supervisor.send(row.sandbox_id ?? '', request));
  if (answer.status !== 200) throw new HttpAnswer(502, { error: textOf(answer) });
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
  const { text } = await run(context, row, `ls -1Ap -- ${quoted(placeIn(row, given))} 2>/dev/null`);
  const prefix = given === '.' || given === '' ? '' : `${given.replace(/\/+$/, '')}/`;
  return text
    .split('\n')
    .filter((name) => name !== '' && name !== '.git/')
    .map((name) => prefix + name);
}

async function selectFile(context: AppContext, c: Context): Promise<Response> {
  const { file } = readQuery(c, selectFileQuery);
  const { row } = withRuntime(context, c);
  const answer = await ask(context, row, '/api/file/download', { path: placeIn(row, file) });
  if (answer.status !== 200) {
    throw new HttpAnswer(404, { error: `Error opening file: ${file.slice(0, 300)}: ${textOf(answer)}` });
  }
  if (answer.body.includes(0))
    throw new HttpAnswer(415, { error: `Unable to open binary file: ${file.slice(0, 300)}` });
  return json({ code: answer.body.toString('utf8') });
}

const MAX_ZIP_FILES = 5000;
const MAX_ZIP_BYTES = 128 * 1024 * 1024;

/** Every file but git's own, as a zip file. */
async function zipDirectory(context: AppContext, c: Context): Promise<Response> {
  const { row } = withRuntime(context, c);
  const found = await run(context, row, 'find . -name .git -prune -o -type f -print');
  const names = found.text.split('\n').filter((name) => name !== '');
  if (names.length > MAX_ZIP_FILES) throw new HttpAnswer(413, { error: `More than ${MAX_ZIP_FILES} files` });
  const members: Zippable = {};
  let size = 0;
  for (const name of names) {
    const answer = await ask(context, row, '/api/file/download', { path: placeIn(row, name) });
    if (answer.status !== 200) continue; // it has gone meanwhile
    size += answer.body.byteLength;
    if (size > MAX_ZIP_BYTES) throw new HttpAnswer(413, { error: 'The workspace is too large for one answer' });
    members[name.replace(/^\.\//, '')] = new Uint8Array(answer.body);
  }
  return new Response(zipSync(members), {
    headers: { 'Content-Type': 'application/zip', 'Content-Disposition': 'attachment; filename="workspace.zip"' },
  });
}

interface Uploaded {
  uploaded_files: string[];
  skipped_files: { name: string; reason: string }[];
}

async function uploadFiles(context: AppContext, c: Context): Promise<Uploaded> {
  const { row } = withRuntime(context, c);
  const body = await readBody(c);
  const form = await new Response(new Uint8Array(body), {
    headers: { 'Content-Type': c.req.header('content-type') ?? '' },
  })
    .formData()
    .catch(() => {
      throw refuse(422, 'The body is no form');
    });
  const result: Uploaded = { uploaded_files: [], skipped_files: [] };
  for (const file of form.getAll('files')) {
    if (typeof file === 'string') continue;
    const target = placeIn(row, path.posix.basename(file.name) || 'file');
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
