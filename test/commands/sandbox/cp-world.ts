import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { invoke, type Ended, type Invocation } from '../../support/world.ts';
import { AgentFiles } from './agent-files.ts';
import { record, useOddServer } from './odd-server.ts';

/** The id of the sandbox. */
export const ID = 'boxboxboxboxboxboxbox1';

export interface CopyWorld {
  readonly server: ReturnType<typeof useOddServer>;
  /** Has the other folders. */
  readonly dir: string;
  /** The folder in which commands run. */
  readonly here: string;
  /** The workspace folder of the sandbox. */
  readonly box: string;
  readonly agent: AgentFiles;
  useAgent(agent: AgentFiles): Promise<void>;
  cp(...args: string[]): Promise<Ended>;
  run(invocation: Invocation): Promise<Ended>;
}

/** A server with one sandbox, whose files are in a folder, and a folder to copy from and to; new for each test. */
export function useCopyWorld(): CopyWorld {
  const server = useOddServer();
  const at = { server, dir: '', here: '', box: '', useAgent, cp: (...args: string[]) => run({ args }), run } as {
    -readonly [Member in keyof CopyWorld]: CopyWorld[Member];
  };

  async function useAgent(agent: AgentFiles): Promise<void> {
    at.agent = agent;
    at.box = agent.box;
    const exposed_urls = [{ name: 'AGENT_SERVER', url: await agent.listen() }];
    server.sandboxes = [record(ID, 'RUNNING', { exposed_urls, session_api_key: 'session', sandbox_spec_id: null })];
  }

  function run({ args, ...invocation }: Invocation): Promise<Ended> {
    const env = { ACS_BASE_URL: server.fake.url, ACS_API_KEY: 'key', ACS_CONFIG_DIR: path.join(at.dir, 'config') };
    return invoke({ cwd: at.here, env, ...invocation, args: ['sandbox', 'cp', ...args] });
  }

  beforeEach(async () => {
    at.dir = mkdtempSync(path.join(tmpdir(), 'acs-cp-test-'));
    at.here = path.join(at.dir, 'here');
    mkdirSync(at.here);
    await useAgent(new AgentFiles(path.join(at.dir, 'box')));
  });
  afterEach(async () => {
    await at.agent.close();
    execFileSync('chmod', ['-R', 'u+rwx', at.dir]);
    rmSync(at.dir, { recursive: true });
  });
  return at;
}

/** What is in a folder: names with their content, mode or target. */
export function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (name: string): void => {
    const full = path.join(folder, name);
    const { mode } = lstatSync(full);
    if (lstatSync(full).isSymbolicLink()) found[name] = `-> ${readlinkSync(full)}`;
    else if (lstatSync(full).isFile()) found[name] = `${(mode & 0o111) === 0 ? '' : 'x '}${readFileSync(full, 'utf8')}`;
    else {
      found[`${name}/`] = (mode & 0o777).toString(8);
      for (const child of readdirSync(full)) visit(path.join(name, child));
    }
  };
  visit('.');
  return found;
}

export function put(root: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const full = path.join(root, name);
    mkdirSync(path.dirname(full), { recursive: true });
    if (name.endsWith('/')) mkdirSync(full, { recursive: true });
    else if (content.startsWith('-> ')) symlinkSync(content.slice(3), full);
    else writeFileSync(full, content.replace(/^x /, ''), { mode: content.startsWith('x ') ? 0o755 : 0o644 });
  }
}
