/** An export as Markdown for the description of a pull request: one text of bounded size. */
import type { Conversation } from '../../../domain/conversation.ts';
import { type ConversationDiff, RECONSTRUCTED } from '../../../domain/edits.ts';
import type { ConversationEvent } from '../../../domain/event.ts';
import { actionIdOf, commandOf, exitCodeOf, shapeOf } from '../../../domain/event-words.ts';
import { lineTotals, type ChangedFile } from '../../../domain/patch.ts';
import { safeLine, safeText } from '../../../text/safe-text.ts';
import { formatUsd } from '../../../text/usd.ts';
import { boundedLines, fenced, quoted, inline } from './md-text.ts';
import type { ExportRecord } from './record.ts';

/** GitHub takes 65,536 characters in a description; some room is left for what a person adds. */
const MOST = 60_000;
const MOST_OF = { answer: 20_000, commands: 10_000, files: 4_000, omissions: 2_000 };
/** Of one command. */
const MOST_OF_COMMAND = 400;

export async function* mdParts(record: ExportRecord): AsyncGenerator<string> {
  const { conversation } = record;
  const commands = await commandsOf(record);
  const diff = await record.diff();
  const before = [
    `# ${inline(conversation.title ?? `Conversation ${conversation.id}`)}`,
    facts(conversation),
    answerText(await record.answer(), conversation),
    commandList(commands),
    changes(diff),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  yield `${before}\n${patchText(diff, conversation, MOST - before.length)}`;
}

interface Command {
  id: string;
  text: string;
  exitCode: number | null;
}

async function commandsOf({ events }: ExportRecord): Promise<Command[]> {
  const commands: Command[] = [];
  for await (const page of events()) {
    for (const event of page) {
      const exitCode = exitCodeOf(event);
      const last = commands.at(-1);
      if (shapeOf(event) === 'command') commands.push({ id: event.id, text: commandText(event), exitCode: null });
      else if (exitCode !== null && last !== undefined && actionIdOf(event) === last.id) last.exitCode = exitCode;
    }
  }
  return commands;
}

function commandText(event: ConversationEvent): string {
  const text = safeText(commandOf(event).replaceAll('\r\n', '\n').trim()).replaceAll('\n', '\n  ');
  return text.length > MOST_OF_COMMAND ? `${text.slice(0, MOST_OF_COMMAND)}…` : text;
}

function facts(conversation: Conversation): string {
  const { status, reason, waiting_for, cost_usd: cost, tokens, model, repository, branch, url, id } = conversation;
  const why = reason?.text ?? (waiting_for === null ? '' : `waits for ${waiting_for}`);
  const used = tokens === null ? '' : ` (${number(tokens.input)} input and ${number(tokens.output)} output tokens)`;
  const link = url !== null && /^https?:\/\/[^\s<>()]+$/.test(url) ? `[${id}](${url})` : id;
  const rows: [string, string][] = [
    ['Outcome', inline(why === '' ? status : `${status}: ${why}`)],
    ['Cost', cost === null ? '' : `${formatUsd(cost)}${used}`],
    ['Model', inline(model ?? '')],
    ['Repository', inline([repository, branch].filter((word) => word !== null).join(', branch '))],
    ['Conversation', link],
  ];
  return rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `- **${name}**: ${value}`)
    .join('\n');
}

function answerText(answer: string | null, { id }: Conversation): string {
  if (answer === null || answer.trim() === '') return '## Answer\n\nThe agent has not answered the latest message.';
  const { text, left } = boundedLines(safeText(answer.replaceAll('\r\n', '\n').trim()), MOST_OF.answer);
  const rest = left === 0 ? '' : `\n\n${leftOut(left, 'line', 'of the answer', `acs conv result ${id}`)}`;
  return `## Answer\n\n${quoted(text)}${rest}`;
}

function commandList(commands: readonly Command[]): string {
  if (commands.length === 0) return '';
  const shown: string[] = [];
  let size = 0;
  for (const { text, exitCode } of commands) {
    const line = `$ ${text}${exitCode === null || exitCode === 0 ? '' : `\n# exit code ${exitCode}`}`;
    size += line.length + 1;
    if (size > MOST_OF.commands) break;
    shown.push(line);
  }
  const left = commands.length - shown.length;
  const rest = left === 0 ? '' : `\n\n${leftOut(left, 'command')}`;
  return `<details>\n<summary>Commands (${number(commands.length)})</summary>\n\n${fenced(shown.join('\n'), 'console')}${rest}\n\n</details>`;
}

function changes({ source, files, omissions }: ConversationDiff): string {
  const parts = ['## Changes'];
  if (source === 'edit-events') parts.push(`This diff is ${RECONSTRUCTED}.`);
  const stat = boundedLines(files.map(statLine).join('\n'), MOST_OF.files);
  if (files.length === 0) parts.push('No changed file is known.');
  else parts.push(fenced(`${stat.text}${stat.left > 0 ? `\n… and ${stat.left} more` : ''}\n${total(files)}`, 'text'));
  const others = omissions.filter((omission) => omission !== RECONSTRUCTED);
  const named = boundedLines(others.map((omission) => `- Left out: ${inline(omission)}`).join('\n'), MOST_OF.omissions);
  if (others.length > 0) parts.push(`${named.text}${named.left > 0 ? `\n- and ${named.left} more` : ''}`);
  return parts.join('\n\n');
}

function statLine({ path, status, added, removed }: ChangedFile): string {
  return `${status.padEnd(8)} ${safeLine(path)}${added === null ? '' : `  +${added} -${removed ?? 0}`}`;
}

function total(files: readonly ChangedFile[]): string {
  const { added, removed } = lineTotals(files);
  return `${number(files.length)} ${files.length === 1 ? 'file' : 'files'}, +${added} -${removed}`;
}

function patchText({ patch }: ConversationDiff, { id }: Conversation, most: number): string {
  if (patch.length === 0) return '';
  const all = safeText(new TextDecoder().decode(patch).replaceAll('\r\n', '\n').replace(/\n$/, ''));
  const { text, left } = boundedLines(all, Math.max(0, most - 1_000));
  const rest = left === 0 ? '' : `\n${leftOut(left, 'line', 'of the diff', `acs conv diff ${id}`)}\n`;
  return `${text === '' ? '' : `\n${fenced(text, 'diff')}\n`}${rest}`;
}

function leftOut(count: number, noun: string, of = '', command = ''): string {
  const what = `${number(count)} more ${noun}${count === 1 ? '' : 's'}${of === '' ? '' : ` ${of}`}`;
  return `_${what} left out${command === '' ? '' : `: \`${command}\``}._`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
