/** The completion scripts in a folder of their own, and a bash that completes a line with them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { completionFiles } from '../../../scripts/generate.ts';

export const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-completion-'));

/** Paths of the scripts by file name; set while tests run. */
export const scripts: Record<string, string> = {};

/** Writes the scripts and the stand-in before the tests of the file, and removes them after. */
export function useScripts(): void {
  beforeAll(async () => {
    // The folder is removed after each test file, and files may share this module.
    mkdirSync(path.join(dir, 'bin'), { recursive: true });
    for (const [file, text] of Object.entries(await completionFiles())) {
      scripts[path.basename(file)] = path.join(dir, path.basename(file));
      writeFileSync(path.join(dir, path.basename(file)), text);
    }
    writeStandIn();
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
}

/** Prints names in place of acs, whose own are tested in names.test.ts. */
export function writeStandIn(): void {
  const file = path.join(dir, 'bin', 'acs');
  const cases = [
    '"__complete profiles") printf "work\\nworkshop\\nlocal\\n" ;;',
    '"__complete conversations") printf "@last\\taa11\\naa11\\trunning: One\\nbb22\\n" ;;',
    '"__complete conversations --profile work") printf "cc33\\tTwo\\n" ;;',
    '"__complete settings") printf "llm_model\\nlanguage\\n" ;;',
  ];
  writeFileSync(file, `#!/bin/sh\ncase "$*" in\n${cases.join('\n')}\nesac\n`);
  chmodSync(file, 0o755);
}

export const env = () => ({ PATH: `${path.join(dir, 'bin')}:${process.env.PATH ?? ''}`, HOME: dir, TERM: 'dumb' });

export function found(program: string): boolean {
  return spawnSync(program, ['-c', 'exit 0']).status === 0;
}

/** What bash offers for a line whose last word is incomplete. */
export function bash(...words: string[]): string[] {
  const typed = ['acs', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source '${scripts['acs.bash']}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _acs; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['--norc', '-c', script], { cwd: dir, env: env(), encoding: 'utf8' });
  return out.split('\n').filter(Boolean);
}
