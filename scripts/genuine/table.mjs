/**
 * The results of all targets as text: a table of cases and targets, and below it what needs words.
 */
import { count, titleOf } from './verdicts.mjs';

/** One column for each dialect of a target, and one for the cases that have none. */
const DIALECTS = ['v1', 'v0'];
const OF_BACKEND = ['agent'];

/**
 * `results`: for each target `{name, isClient, only?, entries, problem, seconds}`, `only` being the
 * titles of the cases that were chosen when it was not all of them; an entry is `{name, dialect?,
 * verdict, why?, conversationSeconds?, seconds, output?, runs?}`. The texts to print in order, the
 * table first.
 */
export function present(results) {
  const clients = results.filter(({ isClient }) => isClient);
  const servers = results.filter(({ isClient }) => !isClient);
  const parts = [
    grid('of a server', servers.map(columnOf(undefined))),
    grid(
      'of a conversation',
      servers.flatMap((result) => {
        const isBackend = result.entries.some(({ dialect }) => OF_BACKEND.includes(dialect));
        return (isBackend ? OF_BACKEND : DIALECTS).map((dialect) => columnOf(dialect)(result));
      }),
    ),
    grid('of a client, with the local service', clients.map(columnOf(undefined))),
    ...results.map(({ name, only }) =>
      section(
        `${name}: only the cases in which it differs were run (of the others "-"):`,
        (only ?? []).map((title) => `  ${title}`),
      ),
    ),
    section(
      'seconds from the creation of a conversation to the end of its run:',
      results.flatMap(timed),
    ),
    section('cases that a server cannot meet:', results.flatMap(unmet)),
    section('flaky cases:', results.flatMap(described('flaky'))),
    section('failed cases:', results.flatMap(described('failed'))),
    results.map(summary).join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function columnOf(dialect) {
  return ({ name, isClient, only, entries }) => ({
    // Each client has cases that others do not have.
    absent: only === undefined && !isClient ? 'not run' : '-',
    title: dialect === undefined ? name : `${name} ${dialect}`,
    entries: new Map(
      entries.filter((entry) => entry.dialect === dialect).map((entry) => [entry.name, entry]),
    ),
  });
}

function grid(title, columns) {
  const names = [...new Set(columns.flatMap(({ entries }) => [...entries.keys()]))];
  if (names.length === 0) return '';
  const nameWidth = Math.max(title.length, ...names.map((name) => name.length));
  const width = Math.max(12, ...columns.map((column) => column.title.length)) + 2;
  const row = (name, cells) =>
    `${name.padEnd(nameWidth + 2)}${cells.map((cell) => cell.padEnd(width)).join('')}`.trimEnd();
  const titles = columns.map((column) => column.title);
  const cells = (name) =>
    columns.map(({ absent, entries }) => entries.get(name)?.verdict ?? absent);
  return [row(title, titles), ...names.map((name) => row(name, cells(name)))].join('\n');
}

function section(title, lines) {
  return lines.length === 0 ? '' : [title, ...lines].join('\n');
}

function timed({ name, entries }) {
  return entries
    .filter(({ conversationSeconds }) => conversationSeconds !== undefined)
    .map((entry) => `  ${name}: ${titleOf(entry)}: ${entry.conversationSeconds.toFixed(1)}`);
}

function unmet({ name, entries }) {
  return entries
    .filter(({ verdict }) => verdict === 'not here')
    .map((entry) => `  ${name}: ${titleOf(entry)}: ${oneLine(entry.why)}`);
}

/**
 * The cases with this verdict: in a line each, and below it the output of each run where there were
 * two.
 */
function described(verdict) {
  return ({ name, entries }) =>
    entries
      .filter((entry) => entry.verdict === verdict)
      .flatMap((entry) => [
        `  ${name}: ${titleOf(entry)}: ${oneLine(entry.why ?? 'see above')}`,
        ...(entry.runs ?? []).flatMap(describedRun),
      ]);
}

function describedRun({ verdict, seconds, why, output }, index) {
  const text = [why ?? '', output ?? ''].filter((part) => part !== '').join('\n');
  return [
    `    run ${index + 1}: ${verdict} after ${seconds} s`,
    ...text.split('\n').map((line) => `      ${line}`.trimEnd()),
  ];
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function summary({ name, entries, problem, seconds }) {
  const counts = ['passed', 'failed', 'flaky', 'unsupported', 'not here'].map(
    (verdict) => `${count(entries, verdict)} ${verdict}`,
  );
  return `${name}: ${counts.join(', ')}, ${seconds} s${problem === null ? '' : `; ${problem}`}`;
}
