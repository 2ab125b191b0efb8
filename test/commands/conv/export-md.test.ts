import { describe, expect, it } from 'vitest';
import { mdParts } from '../../../src/commands/conv/export-md.ts';
import { ran, recordOf, textOf } from '../../support/page.ts';

const mdOf = (parts: Parameters<typeof recordOf>[0]) => textOf(mdParts(recordOf(parts)));

const PATCH = 'diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1,1 +1,1 @@\n-````\n+`````\n';

describe('an export as Markdown', () => {
  it('has title, outcome, cost, answer, commands, files and diff', async () => {
    const text = await mdOf({
      conversation: {
        cost_usd: 0.5,
        tokens: { input: 1200, output: 34 },
        repository: 'owner/name',
        branch: 'main',
      },
      events: [...ran('ls', 'a'), ...ran('false', '', 1)],
      answer: 'All **done**.',
      diff: { patch: PATCH, files: [{ path: 'a.md', status: 'modified', added: 1, removed: 1 }] },
    });
    expect(text).toBe(`# A run

- **Outcome**: finished
- **Cost**: $0.50 (1,200 input and 34 output tokens)
- **Repository**: owner/name, branch main
- **Conversation**: ${'c'.repeat(32)}

## Answer

> All **done**.

<details>
<summary>Commands (2)</summary>

\`\`\`console
$ ls
$ false
# exit code 1
\`\`\`

</details>

## Changes

\`\`\`text
modified a.md  +1 -1
1 file, +1 -1
\`\`\`

\`\`\`\`\`\`diff
${PATCH.trimEnd()}
\`\`\`\`\`\`
`);
  });

  it('marks a reconstructed diff and names what it does not have', async () => {
    const text = await mdOf({
      diff: {
        source: 'edit-events',
        omissions: [
          'reconstructed from edit events; changes made by commands are not included',
          '/tmp/*x*: elsewhere',
        ],
      },
    });
    expect(text).toContain(
      'This diff is reconstructed from edit events; changes made by commands are not included.',
    );
    expect(text).toContain('- Left out: /tmp/\\*x\\*: elsewhere');
    expect(text).toContain('The agent has not answered the latest message.');
  });

  it('stays below the size that GitHub takes, and names what is left out', async () => {
    const text = await mdOf({
      conversation: {
        title: 'x'.repeat(1_000_000),
        reason: { code: 'error', text: 'y'.repeat(1_000_000) },
      },
      events: Array.from({ length: 5_000 }, () => ran('z'.repeat(1_000), '')).flat(),
      answer: 'a line of the answer\n'.repeat(5_000),
      diff: {
        patch: `${PATCH}${'+a line of the diff\n'.repeat(50_000)}`,
        files: Array.from({ length: 5_000 }, (_, at) => ({
          path: `${at}`,
          status: 'added',
          added: 1,
          removed: 0,
        })),
        omissions: Array.from({ length: 5_000 }, (_, at) => `${at}: it could not be compared`),
      },
    });
    expect(text.length).toBeLessThan(60_000);
    const lines = text.split('\n').filter((line) => /left out\b.*_$|^… and|^- and/.test(line));
    expect(lines).toEqual([
      expect.stringMatching(/^_\S+ more lines of the answer left out: `acs conv result c{32}`\._$/),
      expect.stringMatching(/^_\S+ more commands left out\._$/),
      expect.stringMatching(/^… and \d+ more$/),
      expect.stringMatching(/^- and \d+ more$/),
      expect.stringMatching(/^_\S+ more lines of the diff left out: `acs conv diff c{32}`\._$/),
    ]);
    expect(await mdOf({ answer: 'x'.repeat(100_000) })).toMatch(
      /\n> x{20000}…\n\n_1 more line of the answer left out/,
    );
  });

  it('has no text of an agent that ends its block, acts as HTML or hides something', async () => {
    const text = await mdOf({
      conversation: {
        title: '# <script>alert(1)</script>\n[x](javascript:alert(1))',
        url: 'javascript:alert(1)',
      },
      events: ran('echo ```\n</details><!-- \u202e', ''),
      answer: 'one </details> <!-- `<b>` \n```\n<pre> in a block\n```\n</details>\n\u001b[2J',
      diff: {
        patch: '+```````\n',
        files: [{ path: '../`x`\u202e', status: 'added', added: 1, removed: 0 }],
      },
    });
    const lines = text.split('\n');
    expect(lines[0]).toBe(
      '# \\# \\<script\\>alert(1)\\</script\\>\\\\n\\[x\\](javascript:alert(1))',
    );
    expect(text).toContain('- **Conversation**: cccc');
    expect(text).toContain(
      '> one \\</details> \\<!-- `<b>` \n> ```\n> <pre> in a block\n> ```\n> ' +
        '\\</details>\n> \\x1b[2J',
    );
    expect(text).toContain('````console\n$ echo ```\n  </details><!-- \\u202e\n````');
    expect(text).toContain('````````diff\n+```````\n````````');
    expect(text).not.toContain('\u202e');
    expect(lines.filter((line) => line === '</details>')).toHaveLength(1);
  });
});
