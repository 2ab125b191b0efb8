/**
 * The rules of architecture. Imports run in one direction: main, wire, then the other modules; commands import records
 * and ports, never a dialect; servers and the service implement the interface independently, so that each checks the
 * other.
 */
import type { Import, Sources } from './sources.ts';

/** What each module may import. Its own files are always allowed; of `types` only types are. */
const MODULES: Record<string, { loads: readonly string[]; types?: readonly string[] }> = {
  main: { loads: ['cli', 'wire', 'clock', 'errors', 'text'], types: ['context'] },
  wire: { loads: ['*'] },
  cli: { loads: ['commands', 'errors', 'output', 'domain', 'text'], types: ['context'] },
  context: { loads: ['text'], types: ['*'] },
  commands: {
    loads: ['domain', 'runs', 'output', 'errors', 'text', 'archive', 'page', 'local-files'],
    types: ['context', 'ports', 'clock'],
  },
  domain: { loads: ['errors', 'text'] },
  errors: { loads: ['text'] },
  page: { loads: ['domain', 'text'] },
  servers: { loads: ['protocol', 'domain', 'runs', 'errors', 'text'], types: ['context', 'clock'] },
  runs: { loads: ['domain', 'errors', 'text'], types: ['context', 'clock', 'servers'] },
  // Of the client only how a page looks: what a server answers is read independently on both sides.
  service: { loads: ['protocol', 'text', 'files', 'archive', 'page'] },
  protocol: { loads: [] },
  output: { loads: ['errors', 'domain', 'text'], types: ['context'] },
  profiles: { loads: ['errors', 'domain', 'text', 'files', 'processes'], types: ['context'] },
  terminal: { loads: ['errors', 'domain', 'text'], types: ['context'] },
  checkout: { loads: ['errors', 'domain', 'text', 'processes'], types: ['context'] },
  clock: { loads: [] },
  ports: { loads: [], types: ['context', 'errors', 'domain'] },
  text: { loads: [] },
  files: { loads: [] },
  archive: { loads: [] },
  'local-files': { loads: ['domain', 'errors', 'text'] },
  processes: { loads: [] },
};

/** Files at the top of src/ that are part of a module. Any other is a module of its own, by its name. */
const TOP_FILES: Record<string, string> = {
  'src/cli.ts': 'cli',
  'src/global-options.ts': 'cli',
  'src/usage-error.ts': 'cli',
  'src/report.ts': 'cli',
  'src/wire.ts': 'wire',
  'src/service-control.ts': 'ports',
  'src/machine.ts': 'ports',
};

/** Each library is loaded by its owner alone; other modules use the owner. */
const LIBRARY_OWNERS: Record<string, readonly string[]> = {
  '@fastify/busboy': ['src/service/http/'],
  '@hono/node-server': ['src/service/'],
  '@inquirer/prompts': ['src/terminal/'],
  chalk: ['src/terminal/'],
  'cli-table3': ['src/output/'],
  commander: ['src/cli.ts'],
  conf: ['src/profiles/'],
  diff: ['src/domain/text-patch.ts'],
  hono: ['src/service/'],
  'jq-wasm': ['src/output/jq-thread.ts'],
  libsql: ['src/service/storage/'],
  'string-width': ['src/text/'],
  'tar-stream': ['src/local-files/'],
  undici: ['src/servers/transport/'],
  // Readers of answers, requests and trajectories check their shape.
  valibot: ['src/protocol/', 'src/service/'],
  ws: ['src/service/agent-server/', 'src/servers/agent-server/'],
};

/** Files that may use the process, the network and the system clock. */
const EDGES =
  /^src\/(main\.ts|wire\.ts|wire\/|servers\/transport|service\/(.*\/)?(main\.ts|isolation\/|supervisor|lifecycle\/))/;

const FILE_LINES = 300;

/** Every breach as a sentence; empty when no rule is broken. */
export function breaches(sources: Sources): string[] {
  return [
    ...sources.imports.flatMap((each) => importBreach(each, sources)),
    ...sources.imports.flatMap(libraryBreach),
    ...sources.globalUses.filter(({ from }) => !EDGES.test(from)).map(globalBreach),
    ...cycles(sources.imports).map((cycle) => `cycle: ${cycle.join(' → ')}`),
    ...[...sources.lineCounts]
      .filter(([, lines]) => lines > FILE_LINES)
      .map(([file, lines]) => `${file} has ${lines} lines: split it by idea (${FILE_LINES} at most)`),
  ];
}

export function moduleOf(file: string): string {
  const [, first = ''] = file.split('/');
  return TOP_FILES[file] ?? first.replace(/\.ts$/, '');
}

function importBreach({ from, to, origin, loading }: Import, sources: Sources): string[] {
  if (to === '(computed)') return [`${from} loads a module whose name is computed`];
  if (origin !== 'ours') return [];
  if (!sources.lineCounts.has(to)) return [`${from} imports ${to}, which does not exist`];
  const module = moduleOf(from);
  const target = moduleOf(to);
  const rule = MODULES[module];
  if (!rule) return [`${from} is in no module that the rules list`];
  if (module === 'commands' && target === 'commands') return nounBreach(from, to);
  if (module === target || allows(rule.loads, target)) return [];
  if (loading === 'type' && (allows(rule.types ?? [], target) || isPort(module, to, sources))) return [];
  return [`${from} may not import ${to}: ${target} is not allowed in ${module}`];
}

function allows(modules: readonly string[], module: string): boolean {
  return modules.includes('*') || modules.includes(module);
}

/** A command may import the types of the members of its context. */
function isPort(module: string, to: string, sources: Sources): boolean {
  return module === 'commands' && sources.imports.some((each) => each.from === 'src/context.ts' && each.to === to);
}

/** Files that may import from every noun: the tree of commands, and the list of all records in the help. */
const KNOW_ALL_NOUNS = ['src/commands/index.ts', 'src/commands/help/records.ts'];

/** Nouns share the files directly in commands/ and those in commands/resource/; no noun imports another. */
function nounBreach(from: string, to: string): string[] {
  const own = nounOf(from);
  const other = nounOf(to);
  if (other === null || own === other || KNOW_ALL_NOUNS.includes(from)) return [];
  return [`${from} may not import ${to}: the noun ${other} is not allowed in ${own ?? 'what nouns share'}`];
}

function nounOf(file: string): string | null {
  return /^src\/commands\/(?!resource\/)([^/]+)\//.exec(file)?.[1] ?? null;
}

function libraryBreach({ from, to, origin, loading }: Import): string[] {
  if (origin !== 'library' || loading === 'type' || to === '(computed)') return [];
  const owners = LIBRARY_OWNERS[to];
  if (!owners) return [`${from} loads ${to}, which has no owner in the rules`];
  if (owners.some((owner) => from.startsWith(owner))) return [];
  return [`${from} may not load ${to}: its owner is ${owners.join(' and ')}`];
}

function globalBreach({ from, name, line }: Sources['globalUses'][number]): string {
  return `${from}:${line} uses ${name}: use the context instead`;
}

/**
 * Import cycles, of any kind of import (at load time, on use, types only); each once, from its first file in
 * alphabetical order.
 */
function cycles(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to, origin } of imports) {
    if (origin === 'ours') next.set(from, [...(next.get(from) ?? []), to]);
  }
  const found = new Map<string, string[]>();
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      const cycle = rotated(trail.slice(start));
      found.set(cycle.join(), [...cycle, cycle[0] ?? file]);
      return;
    }
    if (done.has(file)) return;
    for (const each of next.get(file) ?? []) walk(each, [...trail, file]);
    done.add(file);
  };
  for (const file of [...next.keys()].sort()) walk(file, []);
  return [...found.values()];
}

function rotated(cycle: readonly string[]): string[] {
  const first = cycle.indexOf([...cycle].sort()[0] ?? '');
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
