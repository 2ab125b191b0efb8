/** The verbs that read what a run has made: result, diff and open. */
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/test-clock.ts';
import {
  endedRun,
  finish,
  jsonLines,
  putToSleep,
  replayFile,
  run,
  startHeldRun,
  useEndedRun,
} from './support.ts';

const at = useEndedRun({ spec: 'process', noun: 'conv' });
const replayed = async (...steps: Record<string, unknown>[]) =>
  endedRun(at.world, '--replay', await replayFile(at.world, 'steps.json', steps));

describe('conv result', () => {
  it('prints the answer byte for byte, and no control characters on a terminal', async () => {
    await at.ends(`result ${await replayed(finish('  zwei\n\tZeilen ü\u202e '))}`, {
      out: '  zwei\n\tZeilen ü\u202e ',
    });
    await at.ends(`result ${await replayed(finish('\u001b[2Jgone'))}`, {
      columns: 80,
      out: '\\x1b[2Jgone\n',
    });
  });

  it('exits 5 while there is no answer, and hints at no wait when none can come', async () => {
    const held = await startHeldRun(at.world);
    await at.ends(`result ${held.id}`, {
      code: 5,
      out: '',
      err: `wait for it: acs conv wait ${held.id}`,
    });
    await held.release();
    await at.ends(`wait ${held.id}`, {});
    await at.ends(`send ${held.id} more --wait`, { code: 1 });
    const err = '(failed) has no answer to the latest message';
    await at.ends(`result ${held.id}`, { code: 5, out: '', err, hides: 'conv wait' });
  });

  it('--json prints the answer with the id of its event, and exits 2 for a table', async () => {
    const { event_id, ...result } = await at.json(`result ${at.id}`);
    await at.ends(`result ${at.id}`, { out: String(result['text']) });
    expect(result).toEqual({ id: at.id, text: expect.any(String) as string });
    const events = jsonLines((await at.ends(`events ${at.id} --format ndjson`, {})).out);
    expect(events.map(({ id }) => id)).toContain(event_id);
    for (const format of ['table', 'tsv', 'ndjson', 'id'])
      await at.ends(`result ${at.id} --format ${format}`, { code: 2 });
  });
});

describe('conv diff', () => {
  it('prints the changes, or a notice when nothing changed', async () => {
    await at.ends(`diff ${at.id}`, { out: /\+\+\+ b\/acs-demo\.sh/ });
    await at.ends(`diff ${await replayed(run('true'), finish('nothing'))}`, {
      out: '',
      err: 'nothing changed',
    });
  });

  it('--stat lists the files, and --name-only their paths', async () => {
    const file = { path: 'acs-demo.sh', status: 'added', added: 4, removed: 0 };
    await at.ends(`diff ${at.id} --stat`, { out: 'acs-demo.sh\tadded\t4\t0\n' });
    for (const flag of ['--stat --json', '--json'])
      await at.ends(`diff ${at.id} ${flag}`, { out: { items: [file], has_more: false } });
    await at.ends(`diff ${at.id} --name-only`, { out: 'acs-demo.sh\n' });
    await at.ends(`diff ${at.id} --name-only --json`, {
      out: { items: [{ path: 'acs-demo.sh' }] },
    });
    await at.ends(`diff ${at.id} --name-only --stat`, { code: 2 });
  });

  it('names a repository that the agent made in the workspace, and prints the other changes', async () => {
    const made =
      'git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q ' +
      '--allow-empty -m first';
    const id = await replayed(
      run(`${made} && echo one > lib/one.txt && echo two > two.txt`),
      finish('done'),
    );
    const { out, err } = await at.ends(`diff ${id}`, { out: /\+two/ });
    expect(err).toBe(
      'warning: left out: lib: a nested git repository, whose files are not compared\n',
    );
    expect(out).not.toContain('lib');
    await at.ends(`diff ${id} --stat`, { out: 'two.txt\tadded\t1\t0\n' });
  });

  it('exits 6 for a paused sandbox without --resume', async () => {
    const id = await endedRun(at.world);
    await putToSleep(at, id);
    await at.ends(`diff ${id}`, { code: 6, err: '--resume' });
    await at.ends(`diff ${id} --resume`, { out: /acs-demo\.sh/ });
  });
});

describe('conv open', () => {
  /** A browser that writes the address it is given. */
  let BROWSER: string;
  const seen = () => path.join(at.dir, 'seen');
  beforeAll(async () => {
    const script =
      `#!/bin/sh\necho "$1 $ACS_API_KEY" > ${seen()}.part && mv ${seen()}.part ` + `${seen()}\n`;
    BROWSER = path.join(at.dir, await at.file('browser', script));
    chmodSync(BROWSER, 0o755);
  });
  beforeEach(() => rmSync(seen(), { force: true }));
  const link = () => new RegExp(`^${at.server.url}/conversations/${at.id}\\?once=[\\w-]{43}\\n$`);

  it('prints the address alone off a terminal, a link that can be used once, and opens nothing', async () => {
    const { out } = await at.ends(`open ${at.id}`, {
      env: { BROWSER },
      out: link(),
      err: '',
      hides: at.world.service.key,
    });
    expect((await fetch(out.trim(), { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(out.trim(), { redirect: 'manual' })).status).toBe(403);
    expect(existsSync(seen())).toBe(false);
  });

  it('prints id and address with --json, and the id with -q', async () => {
    const shown = await at.json<{ url: string }>(`open ${at.id.slice(0, 8)}`);
    expect(Object.keys(shown)).toEqual(['id', 'url']);
    expect(`${shown.url}\n`).toMatch(link());
    await at.ends(`open ${at.id} -q`, { out: `${at.id}\n` });
  });

  it('does not print the token of the link with --debug but in the address', async () => {
    const err = `POST ${at.server.url}/local/conversations/${at.id}/page-link`;
    const ended = await at.ends(`open ${at.id} --debug`, { err });
    expect(ended.err).not.toContain(/once=(.+)/.exec(ended.out)?.[1] ?? 'none');
  });

  it('exits 5 for a conversation that does not exist, and prints its request with --dry-run', async () => {
    await at.ends(`open ${'f'.repeat(32)}`, { code: 5 });
    const url = `${at.server.url}/local/conversations/${at.id}/page-link`;
    const out = { dry_run: true, requests: [{ method: 'POST', url, body: null }] };
    await at.ends(`open ${at.id} --dry-run --json`, { out, writes: [] });
  });

  it('opens the address in the browser on a terminal, which gets no key, and prints it', async () => {
    const err = 'opened it in the browser; the link is valid once, for 60 s';
    const { out } = await at.ends(`open ${at.id}`, {
      columns: 80,
      env: { BROWSER },
      out: link(),
      err,
    });
    await until(() => existsSync(seen()));
    expect(readFileSync(seen(), 'utf8')).toBe(`${out.trim()} \n`);
  });

  it('prints a notice when there is no browser, and exits 0', async () => {
    const env = { BROWSER: '/nowhere/browser', PATH: at.dir };
    const err = 'no browser was found; the link is valid once, for 60 s';
    await at.ends(`open ${at.id}`, { columns: 80, env, out: link(), err });
  });

  it.each(['--no-browser', '-n', '--json', '-o address', ''])(
    'opens nothing with %j, or where CI is set',
    async (flag) => {
      const env = { BROWSER, ...(flag === '' && { CI: 'true' }) };
      await at.ends(`open ${at.id} ${flag}`, { columns: 80, env, err: '' });
      expect(existsSync(seen())).toBe(false);
    },
  );
});
