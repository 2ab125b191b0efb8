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
    terminal('pwd && ls -A | head -n 20', 'First a look around: where am I, and what is here?'),
    terminal('git log --oneline -n 5 2>/dev/null || echo "No commits yet."', 'Is there a history to read?'),
    {
      type: 'edit',
      command: 'create',
      path: FILE,
      file_text: '#!/bin/sh\n# Counts the files of this workspace.\necho "files: unknown"\n',
      thought: 'I write a small script that counts the files of this workspace; the counting comes next.',
    },
    {
      type: 'edit',
      command: 'str_replace',
      path: FILE,
      old_str: 'echo "files: unknown"',
      new_str: 'count=$(find . -type f -not -path "*/.git/*" | wc -l)\necho "files: $((count))"',
      thought: 'Now it really counts.',
    },
    terminal(`sh ${FILE}`, 'Does it work?'),
    terminal(`git status --short ${FILE} 2>/dev/null || ls -l ${FILE}`, 'What did I change?'),
    {
      type: 'finish',
      message:
        `Done. I looked around, wrote ${FILE}, made it count the files of this workspace and ran it. ` +
        'Everything you saw really ran in a sandbox of its own; see it with `acs conv diff`.',
      thought: '',
    },
  ];
}
