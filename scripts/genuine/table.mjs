/** What the runs of the contract come to, as text: a table of cases and targets, and below it what needs words. */

/** One column for each dialect of a target, and one for what is asked of a server whatever it speaks. */
const DIALECTS = ['v1', 'v0'];

/**
 * `results`: for each target `{name, entries, problem, seconds}`; an entry is `{name, dialect?, verdict, why?}`. The
 * texts to print in order, the table first.
 */
export function present(results) {
  const notes = [];
  const parts = [
    grid('of a server', results, results.map(columnOf(undefined)), notes),
    grid(
      'of a conversation',
      results,
      results.flatMap((result) => DIALECTS.map((dialect) => columnOf(dialect)(result))),
      notes,
    ),
    notes.map((why, index) => `(${index + 1}) ${why}`).join('\n'),
    results.flatMap(failures).join('\n'),
    results.map(summary).join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** How many entries have one of these verdicts. */
export function count(entries, ...verdicts) {
  return entries.filter(({ verdict }) => verdicts.includes(verdict)).length;
}

function columnOf(dialect) {
  return ({ name, entries }) => ({
    title: dialect === undefined ? name : `${name} ${dialect}`,
    entries: new Map(entries.filter((entry) => entry.dialect === dialect).map((entry) => [entry.name, entry])),
  });
}

function grid(title, results, columns, notes) {
  const names = [...new Set(columns.flatMap(({ entries }) => [...entries.keys()]))];
  if (names.length === 0) return '';
  const nameWidth = Math.max(title.length, ...names.map((name) => name.length));
  const width = Math.max(12, ...columns.map((column) => column.title.length)) + 2;
  const row = (name, cells) =>
    `${name.padEnd(nameWidth + 2)}${cells.map((cell) => cell.padEnd(width)).join('')}`.trimEnd();
  const cell = (entry) => {
    if (entry === undefined) return 'not run';
    return entry.verdict === 'not here' ? `not here (${noteOf(entry.why, notes)})` : entry.verdict;
  };
  return [
    row(
      title,
      columns.map((column) => column.title),
    ),
    ...names.map((name) =>
      row(
        name,
        columns.map(({ entries }) => cell(entries.get(name))),
      ),
    ),
  ].join('\n');
}

function noteOf(why, notes) {
  if (!notes.includes(why)) notes.push(why);
  return notes.indexOf(why) + 1;
}

function failures({ name, entries }) {
  return entries
    .filter(({ verdict }) => verdict === 'failed')
    .map(
      (entry) =>
        `${name}: ${entry.name}${entry.dialect ? ` (${entry.dialect})` : ''}: ${oneLine(entry.why ?? 'see above')}`,
    );
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function summary({ name, entries, problem, seconds }) {
  const counts = ['passed', 'failed', 'unsupported', 'not here'].map(
    (verdict) => `${count(entries, verdict)} ${verdict}`,
  );
  return `${name}: ${counts.join(', ')}, ${seconds} s${problem === null ? '' : `; ${problem}`}`;
}
