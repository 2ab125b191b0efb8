import { usedNoModel } from '../../domain/conversation.ts';
import { type ConversationDiff, RECONSTRUCTED } from '../../domain/edits.ts';
import { actionIdOf, commandOf, exitCodeOf, shapeOf } from '../../domain/event-payload.ts';
import { lineTotals } from '../../domain/patch.ts';
import type { PageFacts, PageRecord } from '../../page/page.ts';
import { safeLine, safeText } from '../../base/text/safe-text.ts';
import { formatUsd } from '../../base/text/usd.ts';
import { cut, shortened } from '../../base/text/well-formed.ts';

/** GitHub takes 65,536 characters in a description; some room is left for what a person adds. */
const MOST = 60_000;
const MOST_OF = {
  answer: 20_000,
  commands: 10_000,
  command: 400,
  files: 4_000,
  omissions: 2_000,
  inline: 500,
};

export async function* mdParts(record: PageRecord): AsyncGenerator<string> {
  const { conversation } = record;
  const commands = await commandsOf(record);
  const diff = await record.diff();
  const before = [
    `# ${inline(conversation.title ?? `Conversation ${conversation.id}`)}`,
    facts(conversation),
    `## Answer\n\n${answerText(await record.answer(), conversation)}`,
    commandList(commands),
    changes(diff),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  yield `${before}\n${patchText(diff, conversation, MOST - before.length)}`;
}

async function commandsOf({
  events,
}: PageRecord): Promise<{ id: string; text: string; exitCode: number | null }[]> {
  const commands: Awaited<ReturnType<typeof commandsOf>> = [];
  for await (const page of events()) {
    for (const event of page) {
      const exitCode = exitCodeOf(event);
      const last = commands.at(-1);
      if (shapeOf({ ...event, text: event.text ?? '' }) === 'command') {
        const text = safeText(commandOf(event).replaceAll('\r\n', '\n').trim()).replaceAll(
          '\n',
          '\n  ',
        );
        commands.push({ id: event.id, text: shortened(text, MOST_OF.command), exitCode: null });
      } else if (exitCode !== null && last !== undefined && actionIdOf(event) === last.id)
        last.exitCode = exitCode;
    }
  }
  return commands;
}

function facts(conversation: PageFacts): string {
  const {
    status,
    reason,
    waiting_for,
    cost_usd: cost,
    tokens,
    model,
    repository,
    branch,
    url,
    id,
  } = conversation;
  const why = reason?.text ?? (waiting_for === null ? '' : `waits for ${waiting_for}`);
  const used =
    tokens === null
      ? ''
      : ` (${number(tokens.input)} input and ${number(tokens.output)} output tokens)`;
  const link = url !== null && /^https?:\/\/[^\s<>()]+$/.test(url) ? `[${id}](${url})` : id;
  const rows: [string, string][] = [
    ['Outcome', inline(why === '' ? status : `${status}: ${why}`)],
    ['Cost', cost === null || usedNoModel(conversation) ? '' : `${formatUsd(cost)}${used}`],
    ['Model', inline(model ?? '')],
    ['Repository', inline([repository, branch].filter((word) => word !== null).join(', branch '))],
    ['Conversation', link],
  ];
  return rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `- **${name}**: ${value}`)
    .join('\n');
}

function answerText(answer: string | null, { id }: PageFacts): string {
  if (answer === null || answer.trim() === '')
    return 'The agent has not answered the latest message.';
  const { text, left } = boundedLines(
    safeText(answer.replaceAll('\r\n', '\n').trim()),
    MOST_OF.answer,
  );
  const rest =
    left === 0 ? '' : `\n\n${leftOut(left, 'line', 'of the answer', `acs conv result ${id}`)}`;
  return `${quoted(text)}${rest}`;
}

function commandList(commands: Awaited<ReturnType<typeof commandsOf>>): string {
  if (commands.length === 0) return '';
  const shown: string[] = [];
  let size = 0;
  for (const { text, exitCode } of commands) {
    const line = `$ ${text}${exitCode ? `\n# exit code ${exitCode}` : ''}`;
    size += line.length + 1;
    if (size > MOST_OF.commands) break;
    shown.push(line);
  }
  const left = commands.length - shown.length;
  const rest = left === 0 ? '' : `\n\n${leftOut(left, 'command')}`;
  const summary = `<summary>Commands (${number(commands.length)})</summary>`;
  return `<details>\n${summary}\n\n${fenced(shown.join('\n'), 'console')}${rest}\n\n</details>`;
}

function changes({ source, files, omissions }: ConversationDiff): string {
  const parts = ['## Changes'];
  if (source === 'edit-events') parts.push(`This diff is ${RECONSTRUCTED}.`);
  const stats = files.map(
    ({ path, status, added, removed }) =>
      `${status.padEnd(8)} ` +
      `${safeLine(path)}${added === null ? '' : `  +${added} -${removed ?? 0}`}`,
  );
  const stat = boundedLines(stats.join('\n'), MOST_OF.files);
  const { added, removed } = lineTotals(files);
  const noun = files.length === 1 ? 'file' : 'files';
  const total = `${number(files.length)} ${noun}, +${added} -${removed}`;
  if (files.length === 0) parts.push('No changed file is known.');
  else
    parts.push(
      fenced(`${stat.text}${stat.left > 0 ? `\n… and ${stat.left} more` : ''}\n${total}`, 'text'),
    );
  const others = omissions.filter((omission) => omission !== RECONSTRUCTED);
  const named = boundedLines(
    others.map((omission) => `- Left out: ${inline(omission)}`).join('\n'),
    MOST_OF.omissions,
  );
  if (others.length > 0)
    parts.push(`${named.text}${named.left > 0 ? `\n- and ${named.left} more` : ''}`);
  return parts.join('\n\n');
}

function patchText({ patch }: ConversationDiff, { id }: PageFacts, most: number): string {
  if (patch.length === 0) return '';
  const all = safeText(new TextDecoder().decode(patch).replaceAll('\r\n', '\n').replace(/\n$/, ''));
  const { text, left } = boundedLines(all, Math.max(0, most - 1_000));
  const rest =
    left === 0 ? '' : `\n${leftOut(left, 'line', 'of the diff', `acs conv diff ${id}`)}\n`;
  return `${text === '' ? '' : `\n${fenced(text, 'diff')}\n`}${rest}`;
}

function leftOut(count: number, noun: string, of = '', command = ''): string {
  const what = `${number(count)} more ${noun}${count === 1 ? '' : 's'}${of === '' ? '' : ` ${of}`}`;
  return `_${what} left out${command === '' ? '' : `: \`${command}\``}._`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function boundedLines(text: string, mostCharacters: number): { text: string; left: number } {
  if (text.length <= mostCharacters) return { text, left: 0 };
  const lines = text.split('\n');
  let size = 0;
  let count = 0;
  for (const line of lines) {
    size += line.length + 1;
    if (size > mostCharacters) break;
    count += 1;
  }
  if (count === 0)
    return {
      text: `${cut(text, Math.min(mostCharacters, lines[0]?.length ?? 0))}…`,
      left: lines.length,
    };
  return { text: lines.slice(0, count).join('\n'), left: lines.length - count };
}

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function inline(text: string): string {
  return safeLine(shortened(text.trim(), MOST_OF.inline)).replace(
    /[\\`*_[\]<>#|~&]/g,
    (character) => `\\${character}`,
  );
}

/** The beginning or end of a fence; nothing between them is markup. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** A quotation ends every block inside it. HTML is escaped: unclosed, it takes in what follows. */
function quoted(markdown: string): string {
  let fence: string | null = null;
  const lines = markdown.split('\n').map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === null) {
      fence = mark ?? null;
      const inCode = /(`+)[^`]+\1(?!`)|</g;
      return mark === undefined
        ? line.replace(inCode, (found) => (found === '<' ? '\\<' : found))
        : line;
    }
    if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
    return line;
  });
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n');
}
