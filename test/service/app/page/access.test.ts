import { expect, it } from 'vitest';
import { createPageAccess, LINK_SECONDS, SESSION_SECONDS } from '../../../../src/service/app/page/access.ts';

const [A, B] = ['a'.repeat(32), 'b'.repeat(32)];

function accessWithTime() {
  const time = { ms: 1_000_000 };
  return { time, access: createPageAccess({ now: () => time.ms }) };
}

it('a link opens one session, which allows the page of its conversation alone', () => {
  const { access } = accessWithTime();
  const link = access.createLink(A);
  expect(link).toMatch(/^[\w-]{43}$/);
  const session = access.openSession(A, link) ?? '';
  expect(session).toMatch(/^[\w-]{43}$/);
  expect(access.isAllowed(A, session)).toBe(true);
  expect(access.isAllowed(B, session)).toBe(false);
  expect(access.openSession(A, link)).toBeNull();
});

it('the token of a link allows no page, and that of a session opens no further one', () => {
  const { access } = accessWithTime();
  const link = access.createLink(A);
  expect(access.isAllowed(A, link)).toBe(false);
  const session = access.openSession(A, link) ?? '';
  expect(access.openSession(A, session)).toBeNull();
});

it('a link to one conversation is refused at another, and stays valid for its own', () => {
  const { access } = accessWithTime();
  const link = access.createLink(A);
  expect(access.openSession(B, link)).toBeNull();
  expect(access.openSession(A, link)).not.toBeNull();
});

it('a link ends after its time, and so does a session', () => {
  const { access, time } = accessWithTime();
  const late = access.createLink(A);
  const session = access.openSession(A, access.createLink(A)) ?? '';
  time.ms += LINK_SECONDS * 1000 - 1;
  expect(access.openSession(A, access.createLink(A))).not.toBeNull();
  time.ms += 1;
  expect(access.openSession(A, late)).toBeNull();
  time.ms += (SESSION_SECONDS - LINK_SECONDS) * 1000 - 1;
  expect(access.isAllowed(A, session)).toBe(true);
  time.ms += 1;
  expect(access.isAllowed(A, session)).toBe(false);
});

it('refuses what is not a token', () => {
  const { access } = accessWithTime();
  access.createLink(A);
  for (const token of ['', 'x', '../..', '\0', 'x'.repeat(100_000)]) {
    expect(access.openSession(A, token)).toBeNull();
    expect(access.isAllowed(A, token)).toBe(false);
  }
  expect(access.isAllowed(A, undefined)).toBe(false);
});

it('keeps the newest 100 links and the newest 1,000 sessions', () => {
  const { access } = accessWithTime();
  const links = Array.from({ length: 101 }, () => access.createLink(A));
  expect(access.openSession(A, links[0] ?? '')).toBeNull();
  expect(access.openSession(A, links[1] ?? '')).not.toBeNull();
  const sessions = Array.from({ length: 1_001 }, () => access.openSession(A, access.createLink(A)) ?? '');
  expect(access.isAllowed(A, sessions[0])).toBe(false);
  expect(access.isAllowed(A, sessions[1])).toBe(true);
});
