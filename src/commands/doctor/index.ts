import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { LinePart, View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { derivedContext } from '../shared/derived-context.ts';
import { runChecks } from './checks.ts';
import type { Result } from './findings.ts';

/** A symbol besides the word, for readers without colours; the word is for screen readers. */
const MARKS = {
  pass: { text: '✓ pass', tone: 'good' },
  warn: { text: '! warn', tone: 'warn' },
  fail: { text: '✗ fail', tone: 'bad' },
  skip: { text: '- skip', tone: 'dim' },
} as const satisfies Record<Result['status'], LinePart>;

const ID_WIDTH = 'local-service'.length;

export const checkView: View<Result> = {
  noun: 'check',
  id: ({ id }) => id,
  fields: [
    { name: 'id', weight: 0 },
    { name: 'status' },
    { name: 'text', weight: 2 },
    { name: 'hint' },
    { name: 'data', as: 'json', weight: 0 },
  ],
  table: ['id', 'status', 'text', 'hint'],
  tsv: ['id', 'status', 'text', 'hint'],
  line: ({ id, status, text, hint }) => [
    MARKS[status],
    { text: `  ${id.padEnd(ID_WIDTH)}  ` },
    status === 'skip' ? { text, tone: 'dim' } : { text },
    ...(hint === null ? [] : [{ text: `\nnext: ${hint}` }]),
  ],
  lineIndent: MARKS.pass.text.length + ID_WIDTH + 4,
};

export function declare(command: Command, ctx: Context): void {
  command.action(async () => {
    ctx.out.check(checkView, 'list');
    const progress = await ctx.terminal.progress('checking', 'nothing');
    const live = derivedContext(ctx, { server: { mode: 'live' } }); // nothing here writes
    const results = await runChecks(live, (id) => progress.update(`checking ${id}`)).finally(() =>
      progress.done(),
    );
    const count = (wanted: Result['status']) =>
      results.filter(({ status }) => status === wanted).length;
    if (ctx.out.format !== 'table' || ctx.globals.fields !== undefined) {
      await ctx.out.list(checkView, results, { has_more: false });
    } else {
      await ctx.out.lines(checkView, results);
      const warnings = `${count('warn')} warning${count('warn') === 1 ? '' : 's'}`;
      await ctx.notice(
        `${count('pass')} passed, ${warnings}, ${count('fail')} failed, ${count('skip')} skipped`,
      );
    }
    if (count('fail') === 0) return;
    const failed = results.filter(({ status }) => status === 'fail').map(({ id }) => id);
    await ctx.terminal.quietError(`failed checks: ${failed.join(', ')}`);
    ctx.exitCode = 1;
  });
  explain(command, {
    notes: [
      'Checks one server: the active one, or that of --profile or --base-url. A check is ' +
        'skipped when it depends on a check that failed. Doctor does not start the local ' +
        'service, and sends only requests that read; it also calls the model of the local ' +
        'service once. To find out whether that service can store data, doctor writes a file ' +
        'to its data directory and removes it.',
      'The checks are store, config, environment (variables that contradict each other), ' +
        'connection (DNS, proxy, TLS), server, key, clock, model, sandboxes, server-git, ' +
        'automations, local-service, disk, isolation (bubblewrap), node and git.',
      'On an agent server that is reached directly, server-git runs `git --version` on its ' +
        'machine.',
      'Elsewhere `model` reads the settings, because no server has a route that only calls ' +
        'the model. A run shows whether it answers: acs conv new --no-repo "Reply with OK" ' +
        '--wait',
      'The result of a check is pass, warn, fail or skip. The exit code is 1 when a check ' +
        'failed, whatever the reason; warnings do not change it. The exit code is 3 only when ' +
        'the file of --output cannot be written.',
    ],
    json: ({ listForm }) => [listForm(checkView)],
    onlyExits: ['failed', 'usage', 'config', 'interrupted'],
    examples: {
      'acs doctor': 'check the active server and this machine',
      'acs doctor -p work --json': 'check the server of a profile; one item for each check',
      'acs doctor --jq \'.items[] | select(.status == "fail") | .id\'': 'print what failed',
    },
  });
}
