/** The records that commands print, with the members that each has in JSON: read off the views. */
import { bulkShape } from '../../output/bulk.ts';
import type { JsonShape, RecordShape } from '../../output/view.ts';
import { resultView, runView } from '../conv/batch/task-result.ts';
import { confirmationView } from '../conv/confirmation.ts';
import { fileView } from '../conv/diff.ts';
import { eventView } from '../conv/event-view.ts';
import { webPageView } from '../conv/open.ts';
import { pulledView } from '../conv/pull.ts';
import { conversationView, outcomeView, startedShape } from '../conv/view.ts';
import { ERROR_MEMBERS, unreadShape } from '../conv/wait-items.ts';
import { gitProviderView } from '../git-provider/view.ts';
import { checkView } from '../doctor/view.ts';
import { showView } from '../profile/show.ts';
import { profileView } from '../profile/view.ts';
import { branchView, repositoryView, taskView } from '../repo/views.ts';
import { copiedView, sandboxView } from '../sandbox/view.ts';
import { secretView } from '../secret/view.ts';
import { pruneView, readyShape, startedView, statusView, stoppedView } from '../serve-view.ts';
import { modelProfileView } from '../settings/profile/view.ts';
import { fieldView } from '../settings/view.ts';
import { specView } from '../specs.ts';
import { identityView } from '../whoami.ts';
import type { Page } from './page.ts';

const errorShape: RecordShape = { noun: 'error', fields: [{ name: 'error', json: { members: ERROR_MEMBERS } }] };
const noticeShape: RecordShape = { noun: 'notice', fields: [{ name: 'notice' }, { name: 'level' }] };

export const RECORDS: readonly RecordShape[] = [
  conversationView,
  eventView(null),
  outcomeView,
  startedShape,
  unreadShape,
  resultView,
  runView,
  confirmationView,
  fileView,
  webPageView,
  pulledView,
  sandboxView,
  copiedView,
  specView,
  fieldView,
  modelProfileView,
  secretView,
  gitProviderView,
  repositoryView,
  branchView,
  taskView,
  profileView,
  showView,
  identityView,
  checkView,
  readyShape,
  startedView,
  stoppedView,
  statusView,
  pruneView,
  bulkShape,
  errorShape,
  noticeShape,
];

export function recordsPage(): Page {
  return [
    {
      title: 'Records and their members, which are also the names that --fields takes:',
      items: RECORDS.map(({ noun, fields }) => [`<${noun}>`, fields.map(memberText).join(', ')]),
    },
  ];
}

/** `title`, `reason {code, text}`, `repositories []`, `urls [{name, url}]`. */
function memberText({ name, json }: RecordShape['fields'][number]): string {
  return json === undefined ? name : `${name} ${shapeText(json)}`;
}

function shapeText({ list, members }: JsonShape): string {
  const object = members === undefined ? '' : `{${members.join(', ')}}`;
  return list ? `[${object}]` : object;
}
