import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { SandboxLimits } from '../base/worker-protocol.ts';
import { commandFailure } from './detect.ts';
import { findProgram } from './namespace-limit.ts';

export const NO_LIMITS: SandboxLimits = { memory: null, processes: null, temporary: null };

const DEFAULT_PROCESSES = 4096;

/** Succeeds where the kernel counts by user namespace (Linux 5.14, not for root). */
const COUNTS = 'prlimit --nproc=3 unshare --fork true && ! prlimit --nproc=2 unshare --fork true';

type Environment = Readonly<Record<string, string | undefined>>;

/** A requested 0 is no limit. `isolates` false: bubblewrap does not work here. */
export async function chooseLimits(
  requested: { sandboxMemory?: number | undefined; sandboxProcesses?: number | undefined },
  env: Environment,
  isolates: boolean,
): Promise<{ limits: SandboxLimits; missing: string[] }> {
  const { sandboxMemory: memory = Math.floor(totalmem() / 2) } = requested;
  const { sandboxProcesses: processes = DEFAULT_PROCESSES } = requested;
  const values = { memory, processes, temporary: memory };
  const canSet = async (why: string, file: string, args: string[]) =>
    (await commandFailure(file, args, env)) === null ? null : why;
  const isolated: typeof canSet = async (...trial) =>
    isolates ? await canSet(...trial) : 'bubblewrap does not work';
  const refusals = {
    memory: await canSet('prlimit of util-linux does not work', 'prlimit', ['--version']),
    processes: await isolated(
      'the kernel does not limit those of one sandbox for this user',
      'unshare',
      ['--user', '--map-root-user', '/bin/sh', '-c', COUNTS],
    ),
    temporary: await isolated('bubblewrap is older than 0.5', 'bwrap', [
      '--size',
      '4096',
      '--tmpfs',
      '/',
      '--version',
    ]),
  };
  const limits = { ...NO_LIMITS };
  const missing: string[] = [];
  for (const name of ['memory', 'processes', 'temporary'] as const) {
    if (values[name] === 0) continue;
    if (refusals[name] === null) limits[name] = values[name];
    else missing.push(`${name === 'temporary' ? 'temporary files' : name} (${refusals[name]})`);
  }
  return { limits, missing };
}

export function limitCommand(
  { memory, processes }: SandboxLimits,
  searchPath: string | undefined,
): string[] {
  const options = [
    ...(memory === null ? [] : [`--data=${within('data size', memory)}`]),
    ...(processes === null ? [] : [`--nproc=${within('processes', processes)}`]),
  ];
  return options.length === 0
    ? []
    : [findProgram('prlimit', 'prlimit (util-linux)', searchPath), ...options];
}

/** Only a process with CAP_SYS_RESOURCE raises a limit that it has. */
function within(name: string, limit: number): string {
  const [, hard] =
    new RegExp(`^Max ${name} +\\S+ +(\\d+) `, 'm').exec(
      readFileSync('/proc/self/limits', 'latin1'),
    ) ?? [];
  return String(hard === undefined ? limit : Math.min(limit, Number(hard)));
}
