/** A server with both dialects, of which one fails. */
import { expect, it } from 'vitest';
import type { Reply } from '../../support/server.ts';
import { useLoose } from '../../support/use-scripted.ts';

const BROKEN: Reply = { status: 500, json: { detail: 'Internal Server Error' } };
const at = useLoose({ v0: true });

it('a start that fails over V1 names --api where V0 answers', async () => {
  at.script({ 'POST /api/v1/app-conversations': BROKEN });
  await at.ends('conv new hello --no-repo', {
    code: 9,
    err: 'its V0 routes answer: start it with --api v0',
  });
});

it('a start that fails over V0 names --api where V1 answers', async () => {
  at.script({ 'POST /api/conversations': BROKEN });
  const err = 'its V1 routes answer: start it with --api v1';
  await at.ends('conv new hello --no-repo --api v0', { code: 9, err });
});

it('a start that only V0 can carry out does not name --api v1 when it fails', async () => {
  at.script({ 'POST /api/conversations': BROKEN });
  const file = await at.file('body.json', { create_microagent: { repo: 'a/b' } });
  const { err } = await at.ends(['conv', 'new', 'hello', '--no-repo', '--body', file], {
    code: 9,
  });
  expect(err).not.toContain('--api v1');
});

it('a start that fails over V1 does not name --api where V0 fails, too', async () => {
  at.script({ 'POST /api/v1/app-conversations': BROKEN, 'GET /api/conversations': BROKEN });
  const { err } = await at.ends('conv new hello --no-repo', { code: 9 });
  expect(err).not.toContain('--api');
});
