import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../support/world.ts';
import { until } from '../support/test-clock.ts';
import { inWorld, shell, start } from './processes.ts';

let world: World;
/** A run that ended, and one that continues. */
let ended: string;
let running: string;

/** Starts a run in the sandbox of all runs, in this process; its id. */
async function startRun(...flags: string[]): Promise<string> {
  const words = ['conv', 'new', '--no-repo', '--sandbox', world.sandbox ?? '', '-q', ...flags];
  return (await world.acs(...words)).out.trim();
}

beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
  world.sandbox = (await world.acs('sandbox', 'start', '-q')).out.trim();
  ended = await startRun('--replay', 'demo', '--wait');
  const replay = [
    { action: 'run', args: { command: 'sleep 600' } },
    { action: 'finish', args: { final_thought: 'done' } },
  ];
  await writeFile(path.join(world.dir, 'long.json'), JSON.stringify(replay));
  running = await startRun('--replay', 'long.json');
});
afterAll(() => world.close());

describe('an open stdin without input', () => {
  it.each([
    ['conv', 'list'],
    ['conv', 'show', '@last'],
    ['conv', 'new', '--no-repo', '--replay', 'demo', '--wait'],
    ['conv', 'new'],
    ['conv', 'delete', '--all'],
    ['--help'],
  ])('does not block %s %s %s', async (...args) => {
    const { child, ended: over } = start(
      args.filter((arg) => typeof arg === 'string'),
      inWorld(world),
    );
    expect([0, 2]).toContain((await over).code);
    child.stdin?.destroy();
  });
});

describe('a slow reader', () => {
  it('gets all of 3 MiB', async () => {
    const text = `${'0123456789abcdef'.repeat(64)}\n`.repeat(3 * 1024);
    await writeFile(
      path.join(world.dir, 'big.json'),
      JSON.stringify([{ action: 'finish', args: { final_thought: text } }]),
    );
    const script =
      'id=$(acs conv new --no-repo --replay big.json --wait -q) && acs conv result "$id" | ' +
      '(sleep 1; wc -c)';
    const { code, out } = await shell(script, inWorld(world)).ended;
    expect(code).toBe(0);
    expect(Number(out.trim())).toBe(text.length);
  });
});

describe('stdout that is a file', () => {
  it('is appended to when --output names it as /dev/stdout', async () => {
    const script =
      '{ echo before; acs conv show "$ID" -q -o /dev/stdout; echo after; } >file && cat ' +
      'file && rm file';
    const { code, out } = await shell(script, { cwd: world.dir, env: { ...world.env, ID: ended } })
      .ended;
    expect({ code, out }).toEqual({ code: 0, out: `before\n${ended}\nafter\n` });
  });
});

describe('output that cannot be written', () => {
  const full = existsSync('/dev/full');

  it
    .runIf(full)
    .each([
      'conv list',
      'conv list --json',
      'conv show @last',
      'conv events @last',
      'conv events @last --format ndjson',
      'completion bash',
      'conv list --help',
      '--help',
    ])('exits 3, because a part must not pass as the whole: %s', async (command) => {
    const { code, err } = await shell(`acs ${command} >/dev/full`, inWorld(world)).ended;
    expect(code).toBe(3);
    expect(err).toContain('cannot write to stdout: no space left on the device');
  });

  it.runIf(full)('does not end the command when only stderr fails', async () => {
    const script = 'acs conv new --no-repo --replay demo --wait -q 2>/dev/full';
    const { code, out } = await shell(script, inWorld(world)).ended;
    expect(code).toBe(0);
    expect(out).toMatch(/^[0-9a-f]{32}\n$/);
  });
});

describe('a reader that closes the pipe', () => {
  it('ends a list without an error', async () => {
    const { code, out, err } = await shell(
      'acs conv events "$ID" --format ndjson | head -1; echo "${PIPESTATUS[0]}"',
      {
        cwd: world.dir,
        env: { ...world.env, ID: ended },
      },
    ).ended;
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n').at(-1)).toBe('0');
    expect(err).toBe('');
  });

  it('ends a batch with 141, and starts nothing more', async () => {
    const tasks = ['a', 'b', 'c'].map((key) =>
      JSON.stringify({ key, replay: 'demo', 'no-repo': true }),
    );
    await writeFile(path.join(world.dir, 'tasks.jsonl'), tasks.join('\n'));
    const batch = 'acs batch tasks.jsonl --concurrency 1 | true; echo "${PIPESTATUS[0]}"';
    const { out, err } = await shell(batch, inWorld(world)).ended;
    expect(out).toBe('141\n');
    expect(err).not.toContain('b: conversation');
  });

  it('ends follow with 141, because the outcome is not known', async () => {
    const following = start(['conv', 'follow', running], inWorld(world));
    await until(() => following.out() !== '');
    following.child.stdout?.destroy();
    // Something has to happen for the writer to notice.
    await world.acs('conv', 'stop', running);
    expect((await following.ended).code).toBe(141);
  });
});

describe('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    '%s during follow ends with %i and prints that the run continues',
    async (signal, code) => {
      const id = await startRun('--replay', 'long.json');
      const following = start(['conv', 'follow', id, '--json'], inWorld(world));
      await until(() => following.out().includes('sleep 600'));
      following.child.kill(signal);
      const over = await following.ended;
      expect(over.code).toBe(code);
      expect(JSON.parse(over.out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
        type: 'outcome',
        exit_code: code,
      });
      expect(over.err).toContain(`acs conv stop ${id}`);
      const show = await world.acs('conv', 'show', id, '--json');
      expect(JSON.parse(show.out)).toMatchObject({ status: 'running' });
      await world.acs('conv', 'stop', id);
    },
  );
});
