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
    terminal(
      'if git rev-parse --verify -q HEAD >/dev/null 2>&1; then git log --oneline -n 5; else echo "No commits yet."; fi',
      'Is there a history to read?',
    ),
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
    terminal(
      `if git rev-parse --git-dir >/dev/null 2>&1; then git status --short -- ${FILE}; else ls -l ${FILE}; fi`,
      'What did I change?',
    ),
    {
      type: 'finish',
      message:
        `Done. I looked around, wrote ${FILE}, made it count the files of this workspace and ran it. ` +
        'Everything you saw really ran in a sandbox of its own; see it with `acs conv diff`.',
      thought: '',
    },
  ];
}
