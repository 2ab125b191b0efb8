import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { errorOf } from '../../support/use-world.ts';
import { until } from '../../support/test-clock.ts';

const at = useV1({ noun: 'sandbox' });
const [A, B] = ['sandbox-a', 'sandbox-b'];
const CREATE = 'POST /api/v1/sandboxes';
const item = { ok: true, changed: true, error: null };

beforeEach(() => {
  at.v1.addSandbox(A);
  at.v1.addSandbox(B, { status: 'PAUSED' });
});

describe('a change of one sandbox', () => {
  at.rows({
    'pause changes the status': {
      acs: `pause ${A} --json`,
      out: { id: A, status: 'paused', changed: true },
      writes: [`POST /api/v1/sandboxes/${A}/pause`],
    },
    'pause of a paused sandbox sends nothing': {
      acs: `pause ${B} --json`,
      out: { changed: false },
      writes: [],
    },
    'resume changes the status': {
      acs: `resume ${B} --json`,
      out: { status: 'running', changed: true },
      writes: [`POST /api/v1/sandboxes/${B}/resume`],
    },
    'start with an id resumes the sandbox': {
      acs: `start ${B} --json`,
      out: { status: 'running', changed: true },
    },
    'start with an id and --spec sends the spec': {
      acs: `start ${B} --spec image`,
      writes: [`POST /api/v1/sandboxes/${B}/resume?sandbox_spec_id=image`],
    },
    'start with an id exits 6 for a sandbox of another spec': {
      acs: `start ${A} --spec other`,
      code: 6,
      writes: [],
    },
    'start creates a sandbox from a spec': {
      acs: 'start --spec other --json',
      out: { spec_id: 'other', status: 'running', changed: true },
      writes: [`${CREATE}?sandbox_spec_id=other`],
    },
    'start --no-wait prints the id': { acs: 'start --no-wait -q', out: 'made-2\n' },
    'start exits 5 for a spec that does not exist, and sends nothing': {
      acs: 'start --spec nowhere',
      code: 5,
      writes: [],
    },
    'delete sends the id in path and query, and names the sandbox before it': {
      acs: `delete ${A} -y --json`,
      out: { id: A, status: 'missing', changed: true },
      err: `sandbox ${A} (running), conversations: none`,
      writes: [`DELETE /api/v1/sandboxes/${A}?sandbox_id=${A}`],
    },
    'delete exits 5 for an unknown sandbox': { acs: 'delete zzzzzzzz -y', code: 5 },
    'delete --ignore-not-found exits 0 for it': {
      acs: 'delete zzzzzzzz -y --ignore-not-found --json',
      out: { id: 'zzzzzzzz', changed: false },
    },
    'delete exits 2 without --yes off a terminal': {
      acs: `delete ${A}`,
      code: 2,
      err: 'add -y',
      writes: [],
    },
    'delete asks on a terminal, and a no is exit 2': {
      acs: `delete ${A}`,
      answers: [false],
      code: 2,
      writes: [],
    },
    'delete goes on after a yes': { acs: `delete ${A}`, answers: [true] },
    'pause --dry-run prints the request': {
      acs: `pause ${A} --dry-run --json`,
      out: { dry_run: true, requests: [{ method: 'POST' }] },
      writes: [],
    },
    'delete --dry-run prints the request': {
      acs: `delete ${A} --dry-run --json`,
      out: { dry_run: true, requests: [{ method: 'DELETE' }] },
      writes: [],
    },
    'resume --dry-run of a running sandbox prints none': {
      acs: `resume ${A} --dry-run --json`,
      out: { dry_run: true, requests: [] },
    },
    'an ambiguous prefix exits 2 and lists the candidates': {
      acs: 'pause sandbox- --json',
      code: 2,
      err: '"candidates":["sandbox-b","sandbox-a"]',
      writes: [],
    },
  });

  it.each(['start', `start ${A}`, `pause ${A}`, 'resume --all', `delete ${A} -y`])(
    '%s exits 2 for a limit of the wait together with --no-wait, before any request',
    async (line) => {
      for (const limit of ['--wait-timeout', '--timeout'])
        await at.ends(`${line} --no-wait ${limit} 1m`, {
          code: 2,
          err: `${limit} and --no-wait`,
          requests: 0,
        });
    },
  );
});

describe('a change of several sandboxes', () => {
  at.rows({
    'changes each id once and exits 1 when one failed': {
      acs: `pause ${A} ${B} ${A} zzzzzzzz --json`,
      code: 1,
      out: {
        items: [
          { id: A, ...item, before: 'running', after: 'paused' },
          { id: B, ...item, changed: false, before: 'paused', after: 'paused' },
          {
            id: 'zzzzzzzz',
            ok: false,
            changed: false,
            before: null,
            after: null,
            error: { code: 'not-found' },
          },
        ],
        matched: 3,
        failed: 1,
      },
      err: '1 of 3 could not be paused',
    },
    'reads ids from stdin': {
      acs: 'pause - --json',
      stdin: `${A}\n${B}\n`,
      out: { items: [{ id: A }, { id: B }] },
    },
    'exits 0 for no ids on stdin': { acs: 'pause -', stdin: '' },
    'exits 2 for stdin twice': { acs: 'pause - -', stdin: '', code: 2 },
    'deletes what a selector matches, and nothing else': {
      acs: 'delete --status paused -y --json',
      out: { items: [{ id: B, ...item, before: 'paused', after: null }], matched: 1, failed: 0 },
      writes: [`DELETE /api/v1/sandboxes/${B}?sandbox_id=${B}`],
    },
    'exits 0 without a question when nothing matches': {
      acs: 'pause --status error --json',
      out: { items: [], matched: 0, failed: 0 },
    },
    'exits 2 without --yes for a change by selector': { acs: 'pause --all', code: 2, writes: [] },
    '--dry-run prints what would be changed': {
      acs: 'pause --all --dry-run --json',
      out: {
        items: [
          { id: B, ok: true, changed: false, before: 'paused', after: 'paused' },
          { id: A, ok: true, changed: true, before: 'running', after: null },
        ],
        matched: 2,
        failed: 0,
        dry_run: true,
      },
      err: 'dry run: nothing was changed',
      writes: [],
    },
  });

  it.each(['pause', 'delete -y', `pause ${A} --all`, `delete ${A} --idle 1h -y`])(
    '%s exits 2, because it has neither ids nor selectors, or both',
    async (line) => void (await at.ends(line, { code: 2, requests: 0 })),
  );
});

describe('a sandbox with a run in progress', () => {
  const RUN = 'c'.repeat(32);
  beforeEach(() => void at.v1.addConversation({ id: RUN, sandbox_id: A }));

  at.rows({
    'is not deleted, and the conversation is named': {
      acs: `delete ${A} -y --json`,
      code: 6,
      err: `conversations: ${RUN}`,
      writes: [],
    },
    'is not deleted by a selector, which deletes the others': {
      acs: 'delete --all -y --json',
      code: 1,
      out: {
        items: [
          { id: B, ok: true },
          { id: A, ok: false, error: { code: 'conflict' } },
        ],
      },
    },
    'is deleted with --force': { acs: `delete ${A} -y --force` },
    'is paused by its id': { acs: `pause ${A}` },
    'is not paused by a selector': {
      acs: 'pause --status running -y --json',
      code: 1,
      out: { failed: 1 },
      writes: [],
    },
  });
});

describe('the end of a wait', () => {
  /** A new sandbox, which then has this status. */
  const creates = (status: string, members = {}) => ({
    [CREATE]: () => ({
      json: { ...at.v1.addSandbox('sandbox-new', { status, ...members }), status: 'STARTING' },
    }),
  });

  it('start exits 1 with the detail when the new sandbox fails', async () => {
    at.script(creates('ERROR', { status_detail: 'no space left' }));
    await at.ends('start', {
      code: 1,
      err: 'error: sandbox sandbox-new ended in an error: no space left',
    });
  });

  it.each([130, 143])(
    'start prints the new sandbox when a signal ends the wait: %i',
    async (exitCode) => {
      at.script(creates('STARTING'));
      const interruption = new AbortController();
      const starting = at.invoke({
        args: ['sandbox', 'start', '--json'],
        signal: interruption.signal,
      });
      // A request of the case before may arrive late: the read is one after the create.
      const { asked } = at.server;
      const created = () => asked.findIndex(({ method }) => method === 'POST');
      await until(
        () =>
          created() >= 0 &&
          asked.slice(created()).some(({ query }) => query.get('id') === 'sandbox-new'),
      );
      interruption.abort(new AppError('interrupted', 'interrupted', { exitCode }));
      const ended = await starting;
      expect(ended.code).toBe(exitCode);
      expect(JSON.parse(ended.out)).toMatchObject({
        id: 'sandbox-new',
        status: 'starting',
        changed: true,
      });
      expect(errorOf(ended)).toMatchObject({ code: 'interrupted', id: 'sandbox-new' });
      expect(errorOf(ended).hint).toContain('acs sandbox delete');
    },
  );

  it('pause exits 1 when the sandbox ends in an error instead', async () => {
    at.script({
      [`POST /api/v1/sandboxes/${A}/pause`]: () => ({
        json: at.v1.addSandbox(A, { status: 'ERROR' }),
      }),
    });
    await at.ends(`pause ${A}`, { code: 1 });
  });

  it('an unknown status does not end it', async () => {
    at.v1.addSandbox('odd-one', { status: 'HIBERNATING' });
    at.script({ 'POST /api/v1/sandboxes/odd-one/resume': { json: { success: true } } });
    await at.ends('resume odd-one --wait-timeout 5s', { code: 124 });
  });

  at.rows({
    'start exits 11 and sends nothing again when the answer to the create is lost': {
      acs: 'start',
      server: { [CREATE]: { cut: true } },
      code: 11,
      writes: [CREATE],
    },
    'resume exits 6 when the server answers that the status does not allow it': {
      acs: `resume ${B}`,
      server: {
        [`POST /api/v1/sandboxes/${B}/resume`]: { status: 409, json: { detail: 'limit reached' } },
      },
      code: 6,
      err: 'limit reached',
    },
  });
});
