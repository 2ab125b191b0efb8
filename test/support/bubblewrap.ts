import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';
import { tryIsolation } from '../../src/service/isolation/detect.ts';
import type { SandboxSpecName } from '../../src/service/base/worker-protocol.ts';

const trial = await tryIsolation(process.env);
if (trial.state === 'failed') throw new Error(trial.why);
/**
 * Whether cases that need bubblewrap can run here; those that cannot are skipped, which counts them
 * (vitest.config.ts).
 */
export const hasBubblewrap = trial.state === 'works';

/** The same cases for a sandbox of either spec. */
export function describeEachSpec(title: string, cases: (spec: SandboxSpecName) => void): void {
  for (const spec of ['bubblewrap', 'process'] as const) {
    describe.runIf(spec === 'process' || hasBubblewrap)(title.replace('%s', spec), () => {
      cases(spec);
    });
  }
}

/**
 * Returns a search path in which `unshare`, a script in this folder, starts what it starts where
 * /proc/sys is read-only. With `elsewhere` a second mount of /proc is complete and writable.
 */
export function readOnlySettings(folder: string, { elsewhere }: { elsewhere: boolean }): string {
  const unshare = execFileSync('which', ['unshare'], { encoding: 'utf8' }).trim();
  const other = path.join(folder, 'proc');
  mkdirSync(other);
  const mounts = [
    ...(elsewhere ? [`mount --rbind /proc ${other}`] : []),
    'mount --rbind /proc/sys /proc/sys',
    'mount -o remount,ro,bind /proc/sys',
  ].join(' && ');
  const script = [
    '#!/bin/sh',
    `[ "$1" = --user ] || exec ${unshare} "$@"`,
    `exec ${unshare} --user --map-root-user --mount /bin/sh -c '${mounts} && exec ` +
      `${unshare} "$@"' sh "$@"`,
  ];
  writeFileSync(path.join(folder, 'unshare'), `${script.join('\n')}\n`, { mode: 0o755 });
  return `${folder}:${process.env.PATH ?? ''}`;
}
