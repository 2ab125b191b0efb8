/**
 * What the entries of one or two runs of the suite amount to: flaky cases, and how many passed and
 * failed.
 */

/** More flaky cases than this in one run of all targets make it fail. */
export const FLAKY_ALLOWED = 2;

/** The name of a case with its dialect, as the suite selects it. */
export function titleOf({ name, dialect }) {
  return dialect === undefined ? name : `${name} (${dialect})`;
}

/** How many entries have one of these verdicts. */
export function count(entries, ...verdicts) {
  return entries.filter(({ verdict }) => verdicts.includes(verdict)).length;
}

/**
 * The entries of a first run with those of a second one of its failed cases, each on a server of
 * its own. A case that did not fail again is `flaky`; one that failed again, or that the second run
 * did not reach, stays `failed`. Both keep both runs, in `runs`.
 */
export function withSecondRun(first, second) {
  const again = new Map(second.map((entry) => [titleOf(entry), entry]));
  return first.map((entry) => {
    if (entry.verdict !== 'failed') return entry;
    const other = again.get(titleOf(entry));
    if (other === undefined) return { ...entry, runs: [entry] };
    return {
      ...entry,
      verdict: other.verdict === 'failed' ? 'failed' : 'flaky',
      runs: [entry, other],
    };
  });
}

/** The result of a target whose cases ran in parts beside each other. */
export function joined(parts) {
  const problem = parts.map((part) => part.problem).find((each) => each !== null) ?? null;
  const seconds = Math.max(...parts.map((part) => part.seconds));
  return { ...parts[0], entries: parts.flatMap(({ entries }) => entries), problem, seconds };
}

/**
 * The counts of all targets, and why the run fails beside its failed cases. A target with a
 * `problem` counts as one failed case. Flaky cases count as passed up to FLAKY_ALLOWED; when there
 * are more, each of them is a failed one.
 */
export function score(results) {
  const all = results.flatMap(({ entries }) => entries);
  const flaky = count(all, 'flaky');
  const tooMany = flaky > FLAKY_ALLOWED;
  const problems = results.filter(({ problem }) => problem !== null).length;
  return {
    passed: count(all, 'passed', 'unsupported') + (tooMany ? 0 : flaky),
    failed: count(all, 'failed') + problems + (tooMany ? flaky : 0),
    complaint: tooMany ? `${flaky} cases were flaky, at most ${FLAKY_ALLOWED} may be` : null,
  };
}
