/** What the suite on genuine servers makes of cases that fail once, and how it prints them. */
import { describe, expect, it } from 'vitest';
import { present } from '../../scripts/genuine/table.mjs';
import {
  FLAKY_ALLOWED,
  joined,
  score,
  titleOf,
  withSecondRun,
} from '../../scripts/genuine/verdicts.mjs';

interface Entry {
  name: string;
  dialect: string | undefined;
  verdict: string;
  why?: string;
  seconds: number;
  output?: string;
}

const entry = (name: string, verdict: string, more: Partial<Entry> = {}): Entry => ({
  name,
  dialect: undefined,
  verdict,
  seconds: 1,
  ...more,
});
const target = (name: string, entries: Entry[], problem: string | null = null) => ({
  name,
  isClient: false,
  entries,
  problem,
  seconds: 10,
});
const merge = (first: Entry[], second: Entry[]): Entry[] => withSecondRun(first, second) as Entry[];
const flaky = (name: string): Entry =>
  merge([entry(name, 'failed', { why: 'no' })], [entry(name, 'passed')])[0] as Entry;

describe('a case that failed on a genuine server', () => {
  it('is flaky when it passes in the second run, and keeps both runs', () => {
    const first = [
      entry('one', 'passed'),
      entry('two', 'failed', { dialect: 'v1', why: 'exit 9', output: '$ acs a' }),
    ];
    const second = [entry('two', 'passed', { dialect: 'v1', output: '$ acs b' })];
    const merged = merge(first, second);
    expect(merged.map(({ verdict }) => verdict)).toEqual(['passed', 'flaky']);
    expect(merged[1]).toMatchObject({ runs: [first[1], second[0]] });
  });

  it('stays failed when it fails again, or when the second run did not reach it', () => {
    const first = [entry('again', 'failed'), entry('unreached', 'failed')];
    const merged = merge(first, [entry('again', 'failed', { why: 'as before' })]);
    expect(merged.map(({ verdict }) => verdict)).toEqual(['failed', 'failed']);
  });

  it('is compared with the same case of its own dialect', () => {
    const first = [
      entry('one', 'failed', { dialect: 'v1' }),
      entry('one', 'failed', { dialect: 'v0' }),
    ];
    const second = [
      entry('one', 'failed', { dialect: 'v1' }),
      entry('one', 'passed', { dialect: 'v0' }),
    ];
    expect(merge(first, second).map(({ verdict }) => verdict)).toEqual(['failed', 'flaky']);
    expect(first.map(titleOf)).toEqual(['one (v1)', 'one (v0)']);
  });

  it('that the server cannot meet in the second run is not called failed', () => {
    const [merged] = merge(
      [entry('one', 'failed')],
      [entry('one', 'not here', { why: 'no interrupt' })],
    );
    expect(merged?.verdict).toBe('flaky');
  });
});

describe('a target whose cases ran in two parts', () => {
  it('has the cases of both, the problem of either and the longer time', () => {
    const parts = [
      { ...target('1.6.0', [entry('one', 'passed')]), seconds: 30 },
      { ...target('1.6.0', [entry('two', 'failed')], 'the run ended with 1'), seconds: 20 },
    ];
    const whole = joined(parts) as ReturnType<typeof target>;
    expect(whole).toMatchObject({ name: '1.6.0', problem: 'the run ended with 1', seconds: 30 });
    expect(whole.entries.map(({ name }) => name)).toEqual(['one', 'two']);
  });
});

describe('the run of all targets', () => {
  it('passes with two flaky cases', () => {
    const results = [
      target('1.6.0', [flaky('a'), entry('b', 'unsupported')]),
      target('1.4.0', [flaky('c')]),
    ];
    expect(FLAKY_ALLOWED).toBe(2);
    expect(score(results)).toEqual({ passed: 3, failed: 0, complaint: null });
  });

  it('fails with three flaky cases, each of which then counts as failed', () => {
    const results = [
      target('1.6.0', [flaky('a'), flaky('b'), entry('d', 'passed')]),
      target('1.4.0', [flaky('c')]),
    ];
    expect(score(results)).toEqual({
      passed: 1,
      failed: 3,
      complaint: '3 cases were flaky, at most 2 may be',
    });
  });

  it('fails with one failed case, and with a target that could not run', () => {
    expect(score([target('1.6.0', [entry('a', 'failed')])]).failed).toBe(1);
    expect(score([target('1.6.0', [], 'could not be set up')]).failed).toBe(1);
  });
});

describe('the table', () => {
  it('names a flaky case with the output of both runs', () => {
    const first = [
      entry('two', 'failed', {
        dialect: 'v1',
        why: 'exit 9, not 0',
        output: '$ acs whoami\n(exit 9)',
      }),
    ];
    const second = [
      entry('two', 'passed', { dialect: 'v1', seconds: 2, output: '$ acs whoami\n(exit 0)' }),
    ];
    const text = present([target('1.4.0', withSecondRun(first, second))]);
    expect(text).toMatch(/^two +flaky +not run$/m);
    expect(text).toContain(
      [
        'flaky cases:',
        '  1.4.0: two (v1): exit 9, not 0',
        '    run 1: failed after 1 s',
        '      exit 9, not 0',
        '      $ acs whoami',
        '      (exit 9)',
        '    run 2: passed after 2 s',
        '      $ acs whoami',
        '      (exit 0)',
      ].join('\n'),
    );
    expect(text).toContain('1.4.0: 0 passed, 0 failed, 1 flaky, 0 unsupported, 0 not here, 10 s');
  });

  it('lists each case that a server cannot meet by its name, with the reason', () => {
    const unmet = entry('stop', 'not here', {
      dialect: 'v1',
      why: 'no interrupt: POST /interrupt answers 404',
    });
    const text = present([target('1.4.0', [unmet])]);
    expect(text).toContain(
      'cases that a server cannot meet:\n  1.4.0: stop (v1): no interrupt: POST /interrupt ' +
        'answers 404',
    );
  });

  it('lists the cases of a release that runs only those in which it differs', () => {
    const brief = { ...target('1.4.0', [entry('delete', 'passed')]), only: ['delete'] };
    const text = present([
      target('1.6.0', [entry('whoami', 'passed'), entry('delete', 'passed')]),
      brief,
    ]);
    expect(text).toMatch(/^whoami +passed +-$/m);
    expect(text).toMatch(/^delete +passed +passed$/m);
    expect(text).toContain(
      '1.4.0: only the cases in which it differs were run (of the others "-"):\n  delete\n',
    );
  });

  it('shows releases of a client in a grid of their own', () => {
    const client = { ...target('sdk-1.11.5', [entry('attaches', 'passed')]), isClient: true };
    const text = present([target('local', [entry('whoami', 'passed')]), client]);
    expect(text).toMatch(/^of a server +local\nwhoami +passed$/m);
    expect(text).toMatch(/^of a client, with the local service +sdk-1\.11\.5\nattaches +passed$/m);
  });
});
