import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { explain } from '../declare.ts';
import { checkWord } from '../resource/find.ts';
import { readRoute } from './cp-sides.ts';
import { findRunning } from './running.ts';
import { sandboxes } from './sandboxes.ts';
import { copiedView } from './view.ts';

interface CopyOptions {
  resume?: boolean;
}

export function declareCopy(parent: Command, ctx: Context): void {
  const command = parent.command('cp').description('copy files and folders from a sandbox or to it');
  command
    .argument('<src>', 'a path, or <id>:<path> in a sandbox')
    .argument('<dst>', 'the same; one of the two is in a sandbox')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'One side is <id>:<path>. A relative path there begins at the workspace folder of the sandbox. A path of this machine with a colon needs a slash before it: ./a:b.',
      'As with `cp -r`: into a folder that is there, else under the name of <dst>, whose folder has to be there. Folders are merged, and files of the same name replaced. <folder>/. copies what is in a folder. A file never replaces a folder, nor a folder a file.',
      'Nothing appears under its name before all of it has arrived. Files that may be executed stay so. Links within a folder stay links; left out, with a warning, are links that lead out of it, and devices.',
      '- is stdin or stdout: the bytes of one file.',
    ],
    json: ({ objectForm }) => [objectForm(copiedView, 'changed')],
    exits: ['not-found', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs sandbox cp @last:report.md .', does: 'copy a file of the last sandbox into this folder' },
      { command: 'acs sandbox cp ./data @last:', does: 'copy a folder into its workspace folder' },
      { command: 'acs sandbox cp @last:src/. ./src', does: 'copy what is in a folder' },
      { command: 'acs sandbox cp @last:out.json - | jq .', does: 'print a file' },
    ],
  });
  command.action((source: string, target: string, options: CopyOptions) => copy(source, target, options, ctx));
}

async function copy(source: string, target: string, { resume }: CopyOptions, ctx: Context): Promise<void> {
  const route = readRoute(source, target);
  const { id: word } = route.way === 'download' ? route.from : route.to;
  const isToStdout = route.to.at === 'stream';
  if (isToStdout) ctx.out.check(null, 'raw');
  else ctx.out.check(copiedView, 'item');
  if (route.from.at === 'stream' && ctx.globals.apiKeyFile === '-') {
    throw new AppError('usage', 'stdin can be read only once in a command', { hint: 'use "-" in one place' });
  }
  checkWord(sandboxes, word);
  const { prepareUpload, upload, download } = await import('./cp-ways.ts');
  const content = route.way === 'upload' ? await prepareUpload(ctx, route.from) : null;
  const server = await ctx.server();
  const sandbox = await findRunning(ctx, server, word, {
    resume,
    command: () => `acs sandbox cp ${shown(source)} ${shown(target)}`,
  });
  const at = { ctx, server, id: sandbox.id };
  const copied =
    route.way === 'upload' && content !== null
      ? await upload(at, content, route.to.path)
      : route.way === 'download'
        ? await download(at, route.from.path, route.to)
        : null;
  if (copied !== null && !isToStdout) await ctx.out.item(copiedView, copied, { changed: true });
}

/** As a shell takes it. */
function shown(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : shellQuote(text);
}
