import { AppError, isAppError, type ErrorKind, isOfKind } from '../../base/errors.ts';
import { startDiffers, type NewConversation } from '../../domain/new-conversation.ts';
import { isRecord } from '../../protocol/shape.ts';
import { errorBy, reasonOf, statusError, type Answer } from '../http/answer.ts';
import type { Delivery } from '../http/call.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from './links.ts';

export function refusedStart(answer: Answer, request: NewConversation): AppError {
  const { body, status } = answer;
  const member = refusedMember(body);
  const flag = member === null ? undefined : request.given?.[member];
  const reason = reasonOf(answer);
  // The user has written the name of a member only in the file of --body.
  const isOfBody = member !== null && member in request.body;
  const shown = isOfBody ? reason : reason.replace(`${member}: `, '');
  const text = flag === undefined ? reason : `${flag}: ${shown}`;
  const refusal = BY_CODE[isRecord(body) ? String(body['msg_id']) : ''];
  if (refusal !== undefined) {
    const { kind, about = '', hint, data } = refusal;
    return errorBy(answer, kind, `${about}${text}`, { hint, data });
  }
  if (status === 501) return statusError(answer);
  if (member === 'conversation_id' && request.conversation_id !== null)
    return errorBy(
      answer,
      'unsupported',
      'this server chooses the ids of its conversations itself',
    );
  return errorBy(answer, 'usage', `the server refuses this start: ${text}`);
}

const BY_CODE: Readonly<
  Record<string, { kind: ErrorKind; about?: string; hint: string; data?: Record<string, unknown> }>
> = {
  STATUS$ERROR_LLM_AUTHENTICATION: {
    kind: 'config',
    about: 'the provider of the model refuses the key: ',
    hint: 'replace the key: acs settings set llm_api_key=-',
  },
  CONFIGURATION$SETTINGS_NOT_FOUND: {
    kind: 'config',
    hint:
      'set a model: acs settings set llm_model=… llm_base_url=… llm_api_key=-\n' +
      'or replay a recorded run: --replay <file>',
    data: { reason: 'no-model' },
  },
  SANDBOX$NEEDS_ISOLATION: {
    kind: 'unsupported',
    hint:
      'run commands with your own rights, and confirm each: acs conv new … --spec process ' +
      '--confirm always\nfor all conversations: acs settings set ' +
      'default_sandbox_spec_id=process confirmation_mode=true security_analyzer=none',
    data: { reason: 'no-isolation' },
  },
};

function refusedMember(body: unknown): string | null {
  if (!isRecord(body)) return null;
  if (typeof body['msg_id'] === 'string' && body['msg_id'].startsWith('REPLAY$'))
    return 'replay_json';
  const first: unknown = Array.isArray(body['detail']) ? body['detail'][0] : null;
  const loc: unknown = isRecord(first) ? first['loc'] : null;
  const member: unknown = Array.isArray(loc) ? loc.find((part) => part !== 'body') : null;
  return typeof member === 'string' ? member : null;
}

export function abortedStart(
  { signal }: Links,
  error: unknown,
  { isPossible }: Delivery,
  maybe: { as?: string; hint: string; data: Record<string, unknown> },
): unknown {
  if (!signal.aborted) return error;
  const reason: unknown = signal.reason;
  if (error !== reason && !isOfKind('unknown-outcome')(error)) return error;
  if (!isAppError(reason)) return reason;
  const { kind, exitCode, details } = reason;
  const what = isPossible ? `may have taken the start${maybe.as ?? ''}` : 'has not taken the start';
  return new AppError(kind, `${reason.message}; the server ${what}`, {
    ...details,
    exitCode,
    ...(isPossible && { hint: maybe.hint }),
    data: { reason: kind, ...details.data, ...(isPossible ? maybe.data : { changed: false }) },
  });
}

export function ignoredId(asked: string, id: string): AppError {
  const requested = normalId(asked);
  const message = `the server ignored --id ${requested} and started conversation ${id}`;
  return startDiffers(message, id, { requested, received: id });
}

export function ignoredBranch(asked: string, got: string, id: string): AppError {
  const message = `the server ignored --branch ${asked} and started the conversation on ${got}`;
  return startDiffers(message, id, { requested: asked, received: got });
}

export function notCloned(what: string, id: string): AppError {
  const message =
    `${what} did not arrive in the workspace, though the server reports the conversation as ` +
    'started';
  return new AppError('not-found', message, {
    hint: `check the name, and whether the server may read it; the conversation is ${id}`,
    data: { conversation_id: id },
  });
}

export function lostClone(id: string): AppError {
  const what =
    'the agent has removed or replaced .git of the repository, and this server keeps no ' +
    'copy of its commit';
  return new AppError('conflict', `what the run changed cannot be determined: ${what}`, {
    hint: `copy the files: acs sandbox cp ${id}:. <folder>`,
    data: { conversation_id: id },
  });
}
