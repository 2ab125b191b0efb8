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
import { clockFrom } from '../../../src/base/clock.ts';
import { useV1 } from '../../support/use-v1.ts';
import type { Ended, Invocation } from '../../support/world.ts';
import { AgentFiles } from './agent-files.ts';

/** The id of the sandbox. */
export const ID = 'boxboxboxboxboxboxbox1';

/**
 * A server with one sandbox, whose files are in a folder, and a folder to copy from and to; new for
 * each test.
 */
export function useCopyWorld() {
  const server = useV1({ clock: () => clockFrom(() => Date.now()) });
  const at = {
    server,
    /** Has the other folders. */
    dir: '',
    /** The folder in which commands run. */
    here: '',
    /** The workspace folder of the sandbox. */
    box: '',
    agent: undefined as unknown as AgentFiles,
    async useAgent(agent: AgentFiles): Promise<void> {
      at.agent = agent;
      at.box = agent.box;
      const exposed_urls = [{ name: 'AGENT_SERVER', url: await agent.listen() }];
      server.v1.addSandbox(ID, { exposed_urls, session_api_key: 'session' });
    },
    cp: (...args: string[]): Promise<Ended> => at.run({ args }),
    run: ({ args, ...invocation }: Invocation): Promise<Ended> =>
      server.invoke({ cwd: at.here, ...invocation, args: ['sandbox', 'cp', ...args] }),
  };
  beforeEach(async () => {
    at.dir = mkdtempSync(path.join(tmpdir(), 'acs-cp-test-'));
    at.here = path.join(at.dir, 'here');
    mkdirSync(at.here);
    await at.useAgent(new AgentFiles(path.join(at.dir, 'box')));
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
    else if (lstatSync(full).isFile())
      found[name] = `${(mode & 0o111) === 0 ? '' : 'x '}${readFileSync(full, 'utf8')}`;
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
    else
      writeFileSync(full, content.replace(/^x /, ''), {
        mode: content.startsWith('x ') ? 0o755 : 0o644,
      });
  }
}
