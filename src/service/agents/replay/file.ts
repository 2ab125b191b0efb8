import { readFileSync, statSync } from 'node:fs';
import { ServiceError } from '../../base/failure.ts';
import { parseTrajectory } from './parse.ts';
import type { ReplayStep } from '../../base/steps.ts';

export const DEMO = 'demo';

const LARGEST_BYTES = 32 * 1024 * 1024;

/** `named`: an absolute path, or `demo`. Throws ServiceError `replay`. */
export function readReplayFile(named: string): ReplayStep[] {
  if (named === DEMO) return demoSteps();
  try {
    const stat = statSync(named);
    // A pipe or a device can be read once at most; a background service reads the file again.
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (stat.size > LARGEST_BYTES) throw new Error('it is larger than 32 MiB');
    return parseTrajectory(readFileSync(named, 'utf8')).steps;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = { ENOENT: 'there is no such file', EACCES: 'permission denied' }[code ?? ''];
    throw new ServiceError('replay', `cannot use the replay ${named}: ${why ?? message}`, {
      hint:
        'record one: acs conv events <id> --json > run.json; or use the built-in one: ' +
        '--replay demo',
      cause: error,
    });
  }
}

/** The trajectory behind `--replay demo`; it needs only a shell and git. */
export function demoSteps(): ReplayStep[] {
  const script = 'acs-demo.sh';
  const terminal = (command: string, thought: string): ReplayStep => {
    return { type: 'terminal', command, is_input: false, reset: false, thought };
  };
  return [
    terminal('pwd && ls -A | head -n 20', 'Show the working directory and its files.'),
    terminal(
      'git log --oneline -n 5 2>/dev/null || echo "No commits yet."',
      'Show the latest commits.',
    ),
    {
      type: 'edit',
      command: 'create',
      path: script,
      file_text: '#!/bin/sh\n# Counts the files of this workspace.\necho "files: unknown"\n',
      thought: 'Create a script that is to count the files of this workspace.',
    },
    {
      type: 'edit',
      command: 'str_replace',
      path: script,
      old_str: 'echo "files: unknown"',
      new_str: 'count=$(find . -type f -not -path "*/.git/*" | wc -l)\necho "files: $((count))"',
      thought: 'Make the script count the files.',
    },
    terminal(`sh ${script}`, 'Run the script.'),
    terminal(
      `git status --short ${script} 2>/dev/null || ls -l ${script}`,
      'Show what has changed.',
    ),
    {
      type: 'finish',
      message:
        `Created ${script}, which counts the files of this workspace, and ran it. The ` +
        `commands were executed in a sandbox; show the changes with \`acs conv diff\`.`,
      thought: '',
    },
  ];
}
