/** `acs doctor`: why a server cannot be used, and what this machine lacks. It changes nothing and starts nothing. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { hasSeveralProfiles } from '../paging.ts';
import { runChecks, type Check, type Result } from './check.ts';
import { CONFIG_CHECKS } from './config.ts';
import { MACHINE_CHECKS } from './machine.ts';
import { NETWORK_CHECKS } from './network.ts';
import { SERVER_CHECKS } from './server.ts';
import { createSubject } from './subject.ts';
import { checkView } from './view.ts';

const CHECKS: readonly Check[] = [...CONFIG_CHECKS, ...NETWORK_CHECKS, ...SERVER_CHECKS, ...MACHINE_CHECKS];

export function declareDoctor(root: Command, ctx: Context): void {
  const command = root
    .command('doctor')
    .description('check the configuration, the server and this machine')
    .action(async () => doctor(ctx));
  explain(command, {
    notes: [
      'Checks one server, the active one or that of --profile or --base-url. A check that needs another one which failed is skipped. Each step of a connection may take --request-timeout (10 s here when it is not given). Doctor sends only requests that read, and does not start the local service.',
      {
        title: 'Checks:',
        items: [
          [
            'store, config, environment',
            'the profile store and its permissions; the active server and key; contradicting variables',
          ],
          [
            'proxy, dns, tcp, tls, http, clock',
            'the way to the server, the certificate, and the difference of the clocks',
          ],
          ['server, key, model', 'dialects and release; whether the key is accepted; whether a model is set'],
          ['sandboxes, agent-server', 'how many sandboxes run; whether the newest running one can be reached'],
          ['local-service, isolation', 'whether it is running, its version and data; whether bubblewrap works'],
          ['node, git, completion', 'versions; whether completion is installed for $SHELL'],
        ],
      },
      'No server has a route that only calls the model: `model` reads the settings. Whether the model answers is shown by a run: acs conv new --no-repo "Reply with OK" --wait',
      'The result of a check is pass, warn, fail or skip. The exit code is 1 when a check failed, whatever the reason; warnings do not change it. 3 is only for a file of --output that cannot be written.',
    ],
    json: ({ listForm }) => [listForm(checkView)],
    onlyExits: ['failed', 'usage', 'config', 'interrupted'],
    examples: [
      { command: 'acs doctor', does: 'check the active server and this machine' },
      { command: 'acs doctor -p work --json', does: 'check the server of a profile; one item for each check' },
      {
        command: 'acs doctor --json | jq -r \'.items[] | select(.status == "fail") | .id\'',
        does: 'print what failed',
      },
    ],
  });
}

async function doctor(ctx: Context): Promise<void> {
  ctx.out.check(checkView, 'list');
  if (hasSeveralProfiles(ctx)) {
    throw new AppError('usage', 'doctor checks the server of one profile', { hint: 'run it once for each profile' });
  }
  const progress = await ctx.progress('checking', 'nothing');
  let results: Result[];
  try {
    results = await runChecks(CHECKS, await createSubject(ctx), (running) => {
      if (running.length > 0) progress.update(`checking ${running.join(', ')}`);
    });
  } finally {
    await progress.done();
  }
  await print(results, ctx);
  if (results.some(({ status }) => status === 'fail')) ctx.exitCode = 1;
}

async function print(results: readonly Result[], ctx: Context): Promise<void> {
  if (ctx.out.format !== 'table' || ctx.globals.fields !== undefined) {
    return await ctx.out.list(checkView, results, { has_more: false });
  }
  await ctx.out.lines(checkView, results);
  const count = (wanted: Result['status']) => results.filter(({ status }) => status === wanted).length;
  const warnings = count('warn');
  await ctx.notice(
    `${count('pass')} passed, ${warnings} warning${warnings === 1 ? '' : 's'}, ${count('fail')} failed, ${count('skip')} skipped`,
  );
}
