/** What both dialects do before and after they write settings. */
import { AppError } from '../errors.ts';
import { serverText, unsupportedBy, type Answer } from './transport/answer.ts';

/** 400 and 422 are about the values of the user; a 500 may be (interface 2.6). */
export function settingsRefused(answer: Answer): AppError {
  const text = serverText(answer.body) ?? `status ${answer.status}`;
  if (answer.status === 500) {
    return new AppError('server', `the server did not store the settings: ${text}`, {
      status: 500,
      request: answer.request,
      hint: 'a value may be one that the server does not accept; see: acs settings schema',
    });
  }
  return new AppError('usage', `the server refuses these settings: ${text}`, {
    status: answer.status,
    request: answer.request,
  });
}

/** No settings are stored yet where the error is the settings' own; an unknown path is not that. */
export function settingsMissing(answer: Pick<Answer, 'status' | 'request'>): AppError {
  return unsupportedBy(answer, 'this server has no settings that can be read');
}
