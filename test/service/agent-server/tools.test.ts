import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useEmptiedWorker } from './support/shared-worker.ts';
import { eventsOf, ID, outputs, type OwnWorker, startConversation, step, untilStatus } from './support/worker.ts';

let worker: OwnWorker;

useEmptiedWorker((started) => (worker = started));

describe('a replay', () => {
  it('keeps directory and environment from one command to the next', async () => {
    await startConversation(worker, [
      step.run('mkdir deep && cd deep && export WORD="two words" && other=lost'),
      step.run('basename "$PWD"; echo "$WORD"; echo "[$other]"'),
      step.run('exit 3'),
      step.run('basename "$PWD"'),
      step.run('pwd', { reset: true }),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    const [, second, , fourth, fifth] = outputs(await eventsOf(worker));
    expect(second).toBe('deep\ntwo words\n[]');
    expect(fourth).toBe('deep');
    expect(fifth).toBe(worker.workingDir);
  });

  it('runs commands with an empty stdin, so that none waits for input', async () => {
    await startConversation(worker, [step.run('cat; echo end'), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['end']);
  });

  it('ends a command at its timeout with every process it started', async () => {
    const tick = 'while :; do echo x >> ticks; sleep 0.02; done';
    await startConversation(worker, [
      step.run(`echo begin; setsid sh -c '${tick}' & sleep 1000`, { timeout_seconds: 4 }),
      step.run('a=$(wc -c < ticks); sleep 0.2; b=$(wc -c < ticks); test "$a" -gt 0 && test "$a" = "$b" && echo none'),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['begin', 'none']);
    expect(events.find((event) => event.kind === 'ObservationEvent')).toMatchObject({
      observation: { exit_code: -1, timeout: true },
    });
  });

  it('does not wait for background processes of a command', async () => {
    await startConversation(worker, [step.run('sleep 1000 & echo started'), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['started']);
  });

  it('keeps the beginning and the end of a large output with the size of the omitted part', async () => {
    await startConversation(worker, [step.run('seq 1 200000'), step.finish()]);
    await untilStatus(worker, 'finished');
    const [text = ''] = outputs(await eventsOf(worker));
    expect(text.length).toBeLessThan(31_000);
    expect(text.startsWith('1\n2\n')).toBe(true);
    expect(text).toMatch(/\[\.\.\. \d+ characters of output left out \.\.\.\]/);
    expect(text.endsWith('199999\n200000')).toBe(true);
  });

  it('shows invalid UTF-8 as replacement characters', async () => {
    await startConversation(worker, [step.run(String.raw`printf 'a\377b'`), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['a\uFFFDb']);
  });

  it('continues after an error of the file editor, whose message is the observation', async () => {
    await startConversation(worker, [step.replace('none.txt', 'a', 'b'), step.finish()]);
    await untilStatus(worker, 'finished');
    const refused = (await eventsOf(worker)).find((event) => event.kind === 'ObservationEvent');
    expect(refused).toMatchObject({ observation: { is_error: true } });
    expect(JSON.stringify(refused)).toContain('No such file');
  });

  it('replaces file paths of the recorded workspace with those of its own', async () => {
    await startConversation(worker, [
      step.create('/workspace/project/a/b.txt', 'x'),
      step.create('/workspace/c.txt', 'y'),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    expect(readFileSync(path.join(worker.place.workspace, 'a/b.txt'), 'utf8')).toBe('x');
    expect(readFileSync(path.join(worker.place.workspace, 'c.txt'), 'utf8')).toBe('y');
  });
});

describe('secrets of a conversation', () => {
  it('are in the environment of its commands and masked in its events', async () => {
    const secrets = { TOKEN: 'very-secret-value', OTHER: { kind: 'StaticSecret', value: 'another-one' } };
    await startConversation(worker, [step.run('echo "t=$TOKEN o=$OTHER"; echo "$TOKEN" > t.txt'), step.finish()], {
      secrets,
    });
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['t=<secret-hidden> o=<secret-hidden>']);
    expect(JSON.stringify(events)).not.toContain('very-secret-value');
    expect(readFileSync(path.join(worker.place.workspace, 't.txt'), 'utf8')).toBe('very-secret-value\n');
    const { body } = await worker.call('GET', `/api/conversations/${ID}`);
    expect(JSON.stringify(body)).not.toContain('very-secret-value');
    expect(body).toMatchObject({ secret_registry: { secret_sources: { TOKEN: { value: null } } } });
  });
});
