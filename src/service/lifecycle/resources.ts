import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import type { ProcessResources } from '../app/context.ts';
import { cpuSeconds, memoryBytes } from './process.ts';

/** Answers what this process and the disk of its data directory use. */
export function createResources(dataDir: string): () => ProcessResources {
  const before = { cpu: cpuSeconds(), uptime: os.uptime() };
  return () => {
    const now = { cpu: cpuSeconds(), uptime: os.uptime() };
    const seconds = now.uptime - before.uptime;
    const cpu_percent = seconds > 0 ? ((now.cpu - before.cpu) / seconds) * 100 : 0;
    Object.assign(before, now);
    const { rss, vms } = memoryBytes();
    return {
      cpu_percent: Math.round(cpu_percent * 10) / 10,
      memory: { rss, vms, percent: (rss / os.totalmem()) * 100 },
      disk: diskOf(dataDir),
      io: ioOfSelf(),
    };
  };
}

function diskOf(dataDir: string): ProcessResources['disk'] {
  const { bsize, blocks, bfree, bavail } = statfsSync(dataDir);
  const total = blocks * bsize;
  const used = (blocks - bfree) * bsize;
  return { total, used, free: bavail * bsize, percent: total === 0 ? 0 : Math.round((used / total) * 1000) / 10 };
}

function ioOfSelf(): ProcessResources['io'] {
  try {
    const text = readFileSync('/proc/self/io', 'utf8');
    const count = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1] ?? 0);
    return { read_bytes: count('read_bytes'), write_bytes: count('write_bytes') };
  } catch {
    return { read_bytes: 0, write_bytes: 0 };
  }
}
