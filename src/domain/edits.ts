/**
 * What the file editor of an agent did, from its events: the difference of a workspace that cannot be read any more.
 * Changes made by commands are not in these events.
 */
import { posix } from 'node:path';
import type { Conversation } from './conversation.ts';
import { isRecord, textOf } from './event-parts.ts';
import type { ConversationEvent } from './event.ts';
import { changedFiles, type ChangedFile, type PatchWithChanges } from './patch.ts';
import { filePatch, isBinary, statusOf, type FileSides } from './text-patch.ts';

/** A file before and after one edit. Null: it does not exist; undefined: the event does not have it. */
export interface Edit {
  /** As the event names it, mostly absolute. */
  path: string;
  before: string | null | undefined;
  after: string | null | undefined;
}

/** What every diff of edit events does not have, as one of its omissions. */
export const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not in it';

export interface EditsDiff extends PatchWithChanges {
  /** What cannot be reconstructed, one line each. */
  omissions: string[];
}

/** The changes of a conversation, as an export and its page show them. */
export interface ConversationDiff {
  /** `workspace`: compared in the sandbox. `edit-events`: put together from what the file editor reported. */
  source: 'workspace' | 'edit-events';
  files: readonly ChangedFile[];
  /** What is not in the patch, one line each. */
  omissions: readonly string[];
  /** As git prints it. */
  patch: Uint8Array;
}

/** What the path of a workspace may contain. */
type Place = Pick<Conversation, 'id' | 'sandbox_id' | 'repository'>;

type EditorEvent = Pick<ConversationEvent, 'id' | 'kind' | 'payload'>;

/** Takes the next event, oldest first; the edit that it reports, else null. */
export type EditReader = (event: EditorEvent) => Edit | null;

export function createEditReader(): EditReader {
  /** V0: content that an action is to write, until its observation reports that it did; by the id of the action. */
  const writes = new Map<string, string>();
  return (event) => readEdit(event, writes);
}

export interface EditLog {
  /** Takes the next event, oldest first. */
  add(event: EditorEvent): void;
  /** The difference between the first and the last known content of each file. */
  diff(conversation: Place): Promise<EditsDiff>;
}

export function createEditLog(): EditLog {
  const files = new Map<string, Edit>();
  const readNext = createEditReader();
  return {
    add(event) {
      const edit = readNext(event);
      if (edit === null) return;
      const known = files.get(edit.path);
      files.set(edit.path, { ...edit, before: known === undefined ? edit.before : known.before });
    },
    diff: (conversation) => diffOf([...files.values()], conversation),
  };
}

/** The difference that the edits make, marked as reconstructed. */
export async function reconstructedDiff(edits: EditLog, conversation: Place): Promise<ConversationDiff> {
  const diff = await edits.diff(conversation);
  return {
    source: 'edit-events',
    files: changedFiles(diff),
    omissions: [RECONSTRUCTED, ...diff.omissions],
    patch: diff.patch,
  };
}

/** V1: FileEditorObservation (interface 7.2). V0: observations `edit` and `write` (interface 7.6). */
function readEdit(event: EditorEvent, writes: Map<string, string>): Edit | null {
  const { id, kind, payload } = event;
  const parts = (name: string) => (isRecord(payload[name]) ? payload[name] : {});
  if (kind === 'ObservationEvent') {
    const observation = parts('observation');
    const isEditor = /^(FileEditor|StrReplaceEditor|PlanningFileEditor)Observation$/.test(textOf(observation['kind']));
    return isEditor && observation['is_error'] !== true ? observedEdit(observation) : null;
  }
  const cause = String(payload['cause'] ?? '');
  switch (kind) {
    case 'action:write':
      writes.set(id, textOf(parts('args')['content']));
      return null;
    case 'observation:write': {
      const after = writes.get(cause);
      const path = textOf(parts('extras')['path']);
      return path === '' ? null : { path, before: undefined, after };
    }
    case 'observation:edit':
      return observedEdit(parts('extras'));
    default:
      if (kind.startsWith('observation:')) writes.delete(cause);
      return null;
  }
}

function observedEdit(members: Record<string, unknown>): Edit | null {
  const { command, prev_exist: existed, old_content: before, new_content: after } = members;
  const path = textOf(members['path']);
  if (path === '' || command === 'view') return null;
  return {
    path,
    before: typeof before === 'string' ? before : existed === false ? null : undefined,
    // The file that is no more after an edit is one whose creation was undone.
    after: typeof after === 'string' ? after : command === 'undo_edit' ? null : undefined,
  };
}

async function diffOf(edits: readonly Edit[], conversation: Place): Promise<EditsDiff> {
  const patches: string[] = [];
  const changes: EditsDiff['changes'][number][] = [];
  const omissions: string[] = [];
  for (const edit of edits) {
    const path = pathInWorkspace(edit.path, conversation);
    const left = path === null ? 'it is not in the workspace' : whyLeftOut(edit);
    if (path === null || left !== null) {
      omissions.push(`${path ?? edit.path}: ${left}`);
      continue;
    }
    const sides: FileSides = { original: edit.before ?? null, modified: edit.after ?? null };
    if (sides.original === sides.modified) continue;
    if (edit.before === undefined) omissions.push(`${path}: its content before is not known, and it is shown as new`);
    const status = statusOf(sides);
    changes.push({ path, status });
    patches.push((await filePatch({ path, status }, sides)) ?? '');
  }
  return { patch: Buffer.from(patches.join('')), changes, omissions };
}

function whyLeftOut({ before, after }: Edit): string | null {
  if (after === undefined) return 'it was edited, and the events do not have its content';
  if (before === undefined && after === null) return 'it was deleted, and the events do not have its content';
  const sides: FileSides = { original: before ?? '', modified: after ?? '' };
  return isBinary(sides) ? 'its content is not text and is left out' : null;
}

/** Where servers keep a workspace: `/workspace` or `/workspace/project` (interface 6). */
const WORKSPACE = /^.*?\/workspace\/(?:project\/)?/;

/** The path in the repository of the conversation, or in its workspace; null: it is elsewhere. */
function pathInWorkspace(path: string, { id, sandbox_id, repository }: Place): string | null {
  const normal = posix.normalize(path);
  let rest = normal;
  if (posix.isAbsolute(normal)) {
    // On the local service without isolation the workspace is a folder with the name of the sandbox.
    const own = sandbox_id === null || sandbox_id === '' ? -1 : normal.indexOf(`/${sandbox_id}/`);
    const root = own === -1 ? WORKSPACE.exec(normal)?.[0].length : own + (sandbox_id ?? '').length + 2;
    if (root === undefined) return null;
    rest = normal.slice(root);
  }
  // A workspace may have a folder for each conversation, and one for the repository.
  for (const folder of [id, posix.basename(repository ?? '', '.git')]) {
    if (folder !== '' && rest.startsWith(`${folder}/`)) rest = rest.slice(folder.length + 1);
  }
  return rest === '' || rest === '..' || rest.startsWith('../') ? null : rest;
}
