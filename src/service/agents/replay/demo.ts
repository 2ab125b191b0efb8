/**
 * The trajectory behind `--replay demo`: reads well in any workspace, with or without a repository, and needs only a
 * shell and git.
 */
import type { ReplayStep } from './steps.ts';

const FILE = 'acs-demo.sh';

function terminal(command: string, thought: string): ReplayStep {
  return { type: 'terminal', command, is_input: false, reset: false, thought };
}

/** The steps of the demonstration; the same each time. */
export function demoSteps(): ReplayStep[] {
  return [
    terminal('pwd && ls -A | head -n 20', 'Show the working directory and its files.'),
    terminal('git log --oneline -n 5 2>/dev/null || echo "No commits yet."', 'Show the latest commits.'),
    {
      type: 'edit',
      command: 'create',
      path: FILE,
      file_text: '#!/bin/sh\n# Counts the files of this workspace.\necho "files: unknown"\n',
      thought: 'Create a script that is to count the files of this workspace.',
    },
    {
      type: 'edit',
      command: 'str_replace',
      path: FILE,
      old_str: 'echo "files: unknown"',
      new_str: 'count=$(find . -type f -not -path "*/.git/*" | wc -l)\necho "files: $((count))"',
      thought: 'Make the script count the files.',
    },
    terminal(`sh ${FILE}`, 'Run the script.'),
    terminal(`git status --short ${FILE} 2>/dev/null || ls -l ${FILE}`, 'Show what has changed.'),
    {
      type: 'finish',
      message:
        `Created ${FILE}, which counts the files of this workspace, and ran it. ` +
        'The commands were executed in a sandbox; show the changes with `acs conv diff`.',
      thought: '',
    },
  ];
}
