/** The diff of a workspace that cannot be read any more; it lacks the changes of commands. */
import { posix } from 'node:path';
import type { Conversation } from './conversation.ts';
import { actionIdOf, isRecord, textOf } from './event-payload.ts';
import type { ConversationEvent } from './event.ts';
import {
  changedFiles,
  filePatch,
  isBinary,
  statusOf,
  type ChangedFile,
  type FileSides,
} from './patch.ts';

/** A side is null if the file does not exist, undefined if the event lacks its content. */
export interface Edit {
  /** The path in the event, mostly absolute. */
  path: string;
  before: string | null | undefined;
  after: string | null | undefined;
}

export const RECONSTRUCTED =
  'reconstructed from edit events; changes made by commands are not included';

const PAUSED =
  'changes made by commands: the sandbox is paused; acs conv export --resume starts it first';

export interface ConversationDiff {
  /** `workspace`: compared in the sandbox; `edit-events`: reported by the file editor. */
  source: 'workspace' | 'edit-events';
  files: readonly ChangedFile[];
  omissions: readonly string[];
  patch: Uint8Array;
}

type EditedConversation = Pick<Conversation, 'id' | 'sandbox_id' | 'repository'> & {
  sandbox_status?: string | null;
};

type EditorEvent = Pick<ConversationEvent, 'id' | 'kind' | 'payload'>;

export function createEditReader(): (event: EditorEvent) => Edit | null {
  /** V0: what an action is to write, by its id: the observation does not repeat it. */
  const writes = new Map<string, string>();
  return (event) => readEdit(event, writes);
}

export class EditLog {
  private readonly edits = new Map<string, Edit>();
  private readonly readNext = createEditReader();

  add(event: EditorEvent): void {
    const edit = this.readNext(event);
    if (edit === null) return;
    const { before } = this.edits.get(edit.path) ?? edit;
    this.edits.set(edit.path, { ...edit, before });
  }

  async diff(conversation: EditedConversation): Promise<ConversationDiff> {
    let text = '';
    const changes: Pick<ChangedFile, 'path' | 'status'>[] = [];
    const omissions = [RECONSTRUCTED];
    if (conversation.sandbox_status === 'paused') omissions.push(PAUSED);
    for (const edit of this.edits.values()) {
      const path = pathInWorkspace(edit.path, conversation);
      if (path === null) {
        omissions.push(`${edit.path}: outside the workspace`);
        continue;
      }
      const note = noteOf(edit);
      if (note !== null) omissions.push(`${path}: ${note}`);
      const sides = sidesOf(edit);
      const isShown = note === null || note === AS_NEW;
      if (!isShown || sides.original === sides.modified) continue;
      const change = { path, status: statusOf(sides) };
      changes.push(change);
      text += (await filePatch(change, sides)) ?? '';
    }
    const patch = Buffer.from(text);
    return { source: 'edit-events', files: changedFiles({ patch, changes }), omissions, patch };
  }
}

const AS_NEW = 'the previous content is unknown; shown as a new file';

export function sidesOf({ before, after }: Edit): FileSides {
  return { original: before ?? null, modified: after ?? null };
}

/** Why a file is left out of the diff, or AS_NEW. */
function noteOf(edit: Edit): string | null {
  if (edit.after === undefined) return 'edited; the events do not have the content';
  if (edit.after === null && edit.before === undefined)
    return 'deleted; the events do not have the content';
  if (edit.after !== edit.before && isBinary(sidesOf(edit))) return 'binary content';
  return edit.before === undefined ? AS_NEW : null;
}

/** V1: FileEditorObservation (interface 7.2). V0: `edit` and `write` (interface 7.6). */
function readEdit(event: EditorEvent, writes: Map<string, string>): Edit | null {
  const { id, kind, payload } = event;
  const parts = (name: string) => (isRecord(payload[name]) ? payload[name] : {});
  if (kind === 'ObservationEvent') {
    const observation = parts('observation');
    const isEditor = /^(FileEditor|StrReplaceEditor|PlanningFileEditor)Observation$/.test(
      textOf(observation['kind']),
    );
    return isEditor && observation['is_error'] !== true ? observedEdit(observation) : null;
  }
  switch (kind) {
    case 'action:write':
      writes.set(id, textOf(parts('args')['content']));
      return null;
    case 'observation:write':
      return observedEdit({
        path: parts('extras')['path'],
        new_content: writes.get(actionIdOf(event) ?? ''),
      });
    case 'observation:edit':
      return observedEdit(parts('extras'));
    default:
      return null;
  }
}

function observedEdit(members: Record<string, unknown>): Edit | null {
  const { command, prev_exist: existed, old_content: before, new_content: after } = members;
  const path = textOf(members['path']);
  if (path === '' || command === 'view') return null;
  return {
    path,
    before: contentOf(before, existed === false),
    // An edit after which there is no file has undone its creation.
    after: contentOf(after, command === 'undo_edit'),
  };
}

function contentOf(text: unknown, isAbsent: boolean): string | null | undefined {
  if (typeof text === 'string') return text;
  return isAbsent ? null : undefined;
}

/** Where servers keep a workspace: `/workspace` or `/workspace/project` (interface 6). */
const WORKSPACE = /^.*?\/workspace\/(?:project\/)?/;

/** The path in the repository of the conversation, or in its workspace; null: it is elsewhere. */
function pathInWorkspace(
  path: string,
  { id, sandbox_id, repository }: EditedConversation,
): string | null {
  const normal = posix.normalize(path);
  let rest = normal;
  if (posix.isAbsolute(normal)) {
    // On the local service without isolation the workspace is the folder `<sandbox id>`.
    const own = `/${sandbox_id ?? ''}/`;
    const start = normal.indexOf(own);
    const root = start === -1 ? WORKSPACE.exec(normal)?.[0].length : start + own.length;
    if (root === undefined) return null;
    rest = normal.slice(root);
  }
  // A workspace may have a folder for each conversation, and one for the repository.
  for (const folder of [id, posix.basename(repository ?? '', '.git')]) {
    if (rest.startsWith(`${folder}/`)) rest = rest.slice(folder.length + 1);
  }
  return /^(\.\.)?\//.test(`${rest}/`) ? null : rest;
}
