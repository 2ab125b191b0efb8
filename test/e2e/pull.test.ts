import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { git, shell } from '../support/patch-matrix.ts';
import { createWorld, type World } from '../support/world.ts';
import { inWorld, start } from './processes.ts';

const FILES = 120;
const MOMENTS = 8;

let world: World;
let original: string;
let id: string;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  original = path.join(world.dir, 'original');
  git(world.dir, 'init', '-q', '-b', 'main', original);
  shell(
    original,
    `for i in $(seq ${FILES}); do mkdir -p d$((i % 20)); echo $i >d$((i % 20))/f$i; done`,
  );
  git(original, 'add', '-A');
  git(original, 'commit', '-q', '-m', 'first');
  const replay = path.join(world.dir, 'many.json');
  const command =
    `for i in $(seq ${FILES}); do echo more >>d$((i % 20))/f$i; echo new >n$i; done; rm -r ` +
    'd0; head -c 200000 /dev/urandom >big';
  shell(
    world.dir,
    `cat >${replay} <<'E'\n${JSON.stringify([
      { action: 'run', args: { command } },
      { action: 'finish', args: { final_thought: 'done' } },
    ])}\nE`,
  );
  const started = await world.acs(
    'conv',
    'new',
    '--repo',
    original,
    '--replay',
    replay,
    '--wait',
    '--json',
  );
  if (started.code !== 0) throw new Error(started.err);
  id = (JSON.parse(started.out) as { id: string }).id;
});
afterAll(() => world.close());

/** A checkout of its own, with files as they were before the run. */
function freshCheckout(): string {
  const dir = mkdtempSync(path.join(world.dir, 'checkout-'));
  cpSync(original, dir, { recursive: true });
  git(dir, 'status');
  return dir;
}

/** Counts the paths that differ from the commit. */
const changed = (dir: string): number => {
  const lines = git(dir, 'status', '--short', '--untracked-files=all');
  return lines === '' ? 0 : lines.split('\n').length;
};
const leftIn = (dir: string): string[] =>
  readdirSync(path.join(dir, '.git')).filter((name) => /^acs-|\.lock$/.test(name));
const pull = (dir: string) => start(['conv', 'pull', id], inWorld(world, dir));
/** All files with their changes, and those that are new; `big` too. */
const ALL = FILES * 2 + 1;

describe('conv pull', () => {
  let wholeMs: number;
  beforeAll(async () => {
    const dir = freshCheckout();
    const from = Date.now();
    const { code, err } = await pull(dir).ended;
    wholeMs = Date.now() - from;
    expect({ code, err, changed: changed(dir) }).toMatchObject({ code: 0, changed: ALL });
  });

  it.each(Array.from({ length: MOMENTS }, (_, index) => index + 1))(
    'has done everything or nothing when it is interrupted (moment %i of 8)',
    async (moment) => {
      const dir = freshCheckout();
      const { child, ended } = pull(dir);
      const timer = setTimeout(() => child.kill('SIGINT'), (wholeMs * moment) / MOMENTS);
      const { code } = await ended;
      clearTimeout(timer);

      expect([0, 130, null]).toContain(code);
      expect([0, ALL]).toContain(changed(dir));
      expect(leftIn(dir)).toEqual([]);
      rmSync(dir, { recursive: true });
    },
  );
});
