/**
 * Ids of conversations and tasks: 32 hex digits to acs and the app server, with dashes at the agent server. And the error
 * for an id that no conversation has.
 */
import { AppError } from '../errors.ts';

const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/i;

/** 32 lower-case hex digits; an id of another form stays as it is. */
export function normalId(id: string): string {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id;
}

export function isUuid(id: string): boolean {
  return UUID.test(id);
}

/** Dashes put back; an id of another form stays as it is. */
export function dashedId(id: string): string {
  const hex = normalId(id);
  if (hex.length !== 32) return id;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function noConversation(id: string): AppError {
  return new AppError('not-found', `there is no conversation ${id.slice(0, 100)} at this server`, {
    hint: 'list them with: acs conv list',
  });
}
