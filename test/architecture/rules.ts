/**
 * The rules of architecture. Imports run in one direction, from `cli` down to `base`; commands
 * import records and ports, never a dialect; the client and the service implement the interface
 * independently, so that each checks the other.
 */
import type { Import, Sources } from './sources.ts';

/**
 * What each folder of src/ may import, beside its own files; of `types` only types are. A file
 * directly in src/ is a module of its own.
 */
const MODULES: Record<string, { loads: readonly string[]; types?: readonly string[] }> = {
  main: { loads: ['cli', 'errors', 'base'], types: ['context'] },
  cli: { loads: ['*'] },
  commands: {
    loads: ['page', 'files', 'output', 'runs', 'domain', 'errors', 'base'],
    types: ['context'],
  },
  // The context names the types of everything that a command is handed.
  context: { loads: ['base'], types: ['*'] },
  page: { loads: ['domain', 'errors', 'base'] },
  // Of the client only how a page looks: what a server answers is read independently on both sides.
  service: { loads: ['page', 'protocol', 'base'] },
  local: { loads: ['files', 'domain', 'errors', 'base'], types: ['context'] },
  files: { loads: ['domain', 'errors', 'base'] },
  client: { loads: ['protocol', 'runs', 'domain', 'errors', 'base'], types: ['context'] },
  terminal: { loads: ['domain', 'errors', 'base'], types: ['context'] },
  output: { loads: ['domain', 'errors', 'base'], types: ['context'] },
  runs: { loads: ['domain', 'errors', 'base'], types: ['context', 'client'] },
  protocol: { loads: [] },
  domain: { loads: ['protocol', 'errors', 'base'] },
  // What fails in the service has a status of HTTP, no exit code.
  errors: { loads: ['base'] },
  base: { loads: [] },
};

/** Parts of a folder with rules of their own. */
const PARTS: Record<string, string> = {
  'src/commands/context.ts': 'context',
  'src/local/files/': 'files',
  'src/base/errors.ts': 'errors',
};

/** Each library is loaded by its owner alone; other modules use the owner. */
const LIBRARY_OWNERS: Record<string, readonly string[]> = {
  '@ai-sdk/anthropic': ['src/service/agents/model/'],
  '@ai-sdk/google': ['src/service/agents/model/'],
  '@ai-sdk/openai': ['src/service/agents/model/'],
  '@ai-sdk/openai-compatible': ['src/service/agents/model/'],
  '@fastify/busboy': ['src/service/http/'],
  '@hono/node-server': ['src/service/'],
  '@inquirer/prompts': ['src/terminal/'],
  '@modelcontextprotocol/sdk': ['src/service/agents/mcp/'],
  '@valibot/to-json-schema': ['src/service/agents/model/', 'src/service/openapi/'],
  ai: ['src/service/agents/model/'],
  chalk: ['src/terminal/'],
  commander: ['src/cli/run.ts'],
  conf: ['src/local/profiles/'],
  croner: ['src/commands/automation/automations.ts'],
  diff: ['src/domain/patch.ts'],
  'eventsource-parser': ['src/service/agents/model/chunks.ts'],
  fflate: ['src/service/http/'],
  'fast-string-width': ['src/base/text/'],
  hono: ['src/service/'],
  'jq-wasm': ['src/output/jq-thread.ts'],
  jsonrepair: ['src/service/agents/model/repair.ts'],
  libsql: ['src/service/storage/'],
  'markdown-it': ['src/page/markup.ts'],
  ora: ['src/terminal/spinner.ts'],
  'tar-stream': ['src/local/files/'],
  undici: ['src/service/agents/proxy.ts'],
  // Readers of answers, requests and trajectories check their shape.
  valibot: ['src/protocol/', 'src/service/'],
  ws: ['src/service/agent-server/', 'src/client/http/'],
  yaml: ['src/commands/automation/files.ts', 'src/service/agent-server/instructions.ts'],
};

/** Files that may use the process, the network and the system clock. */
const EDGES =
  /^src\/(main\.ts|cli\/create-context|client\/http|base\/process|service\/(.*\/)?(main\.ts|serve\.ts|recover\.ts|agents\/(proxy|model\/failure|mcp\/transports)|settings\/forgejo|isolation\/|supervisor|lifecycle\/))/;

const FILE_LINES = 450;

/** Every breach as a sentence; empty when no rule is broken. */
export function breaches(sources: Sources): string[] {
  return [
    ...sources.imports.flatMap((each) => importBreach(each, sources)),
    ...sources.imports.flatMap(libraryBreach),
    ...sources.globalUses.filter(({ from }) => !EDGES.test(from)).map(globalBreach),
    ...cycles(sources.imports).map((cycle) => `cycle: ${cycle.join(' → ')}`),
    ...[...sources.lineCounts]
      .filter(([, lines]) => lines > FILE_LINES)
      .map(
        ([file, lines]) => `${file} has ${lines} lines: split it by idea (${FILE_LINES} at most)`,
      ),
  ];
}

export function moduleOf(file: string): string {
  const part = Object.keys(PARTS).find((prefix) => file.startsWith(prefix));
  const [, folder = ''] = file.split('/');
  return (part && PARTS[part]) ?? folder.replace(/\.ts$/, '');
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
  if (loading === 'type' && (allows(rule.types ?? [], target) || isPort(module, to, sources)))
    return [];
  return [`${from} may not import ${to}: ${target} is not allowed in ${module}`];
}

function allows(modules: readonly string[], module: string): boolean {
  return modules.includes('*') || modules.includes(module);
}

/** A command may import the types of the members of its context. */
function isPort(module: string, to: string, sources: Sources): boolean {
  return (
    module === 'commands' &&
    sources.imports.some((each) => each.from === 'src/commands/context.ts' && each.to === to)
  );
}

/**
 * Files that may import from every noun: the tree of commands, the list of all records in the help,
 * and the run of an automation, which is followed as `conv follow` does.
 */
const KNOW_ALL_NOUNS = [
  'src/commands/index.ts',
  'src/commands/help/index.ts',
  'src/commands/automation/run.ts',
];

/**
 * Nouns share the files directly in commands/ and in commands/shared/; no noun imports
 * another.
 */
function nounBreach(from: string, to: string): string[] {
  const own = nounOf(from);
  const other = nounOf(to);
  if (other === null || own === other || KNOW_ALL_NOUNS.includes(from)) return [];
  return [
    `${from} may not import ${to}: the noun ${other} is not allowed in ` +
      `${own ?? 'what nouns share'}`,
  ];
}

function nounOf(file: string): string | null {
  return /^src\/commands\/(?!shared\/)([^/]+)\//.exec(file)?.[1] ?? null;
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
 * Import cycles, of any kind of import (at load time, on use, types only); each once, from its
 * first file in alphabetical order.
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
