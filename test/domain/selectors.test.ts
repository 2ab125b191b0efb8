import { describe, expect, it } from 'vitest';
import { isSelected, matchesGlob, type Selectable, type Selection } from '../../src/domain/selectors.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');
const HOUR_MS = 3_600_000;

const record: Selectable = {
  status: 'running',
  created_at: '2026-03-10T06:00:00Z',
  updated_at: '2026-03-10T11:00:00Z',
  running: false,
  spec_id: 'process',
  repositories: ['acme/shop', 'acme/docs'],
};

const selected = (selection: Selection, changes: Partial<Selectable> = {}) =>
  isSelected({ ...record, ...changes }, selection, NOW);

describe('isSelected', () => {
  it('selects every record when no condition is given', () => {
    expect(selected({})).toBe(true);
  });

  it('intersects conditions', () => {
    expect(selected({ status: ['running'], spec: ['process'] })).toBe(true);
    expect(selected({ status: ['running'], spec: ['bubblewrap'] })).toBe(false);
  });

  it('selects by each of several values of one condition', () => {
    expect(selected({ status: ['paused', 'running'] })).toBe(true);
    expect(selected({ notStatus: ['paused', 'running'] })).toBe(false);
  });

  it('counts the age since creation', () => {
    expect(selected({ olderThanMs: 6 * HOUR_MS })).toBe(true);
    expect(selected({ olderThanMs: 6 * HOUR_MS + 1 })).toBe(false);
    expect(selected({ notOlderThanMs: 6 * HOUR_MS })).toBe(false);
    expect(selected({ notOlderThanMs: 7 * HOUR_MS })).toBe(true);
  });

  it('treats a record without a time neither as old nor as new', () => {
    expect(selected({ olderThanMs: 1 }, { created_at: null })).toBe(false);
    expect(selected({ notOlderThanMs: 9e12 }, { created_at: null })).toBe(false);
  });

  it('treats a record as idle that has no run in progress and was not updated for that long', () => {
    expect(selected({ idleMs: HOUR_MS })).toBe(true);
    expect(selected({ idleMs: 2 * HOUR_MS })).toBe(false);
    expect(selected({ idleMs: HOUR_MS }, { running: true })).toBe(false);
    expect(selected({ idleMs: HOUR_MS }, { running: null })).toBe(false);
  });

  it('does not treat a run in progress as idle, however long ago its last update was', () => {
    expect(selected({ notIdleMs: HOUR_MS }, { running: true })).toBe(true);
    expect(selected({ notIdleMs: HOUR_MS })).toBe(false);
    expect(selected({ notIdleMs: 2 * HOUR_MS })).toBe(true);
  });

  it('compares every repository', () => {
    expect(selected({ repo: ['acme/do*'] })).toBe(true);
    expect(selected({ repo: ['other/*'] })).toBe(false);
    expect(selected({ notRepo: ['acme/do*'] })).toBe(false);
    expect(selected({ notRepo: ['other/*'] }, { repositories: [] })).toBe(true);
  });

  it('matches a record without a spec with no named spec', () => {
    expect(selected({ spec: ['process'] }, { spec_id: null })).toBe(false);
    expect(selected({ notSpec: ['process'] }, { spec_id: null })).toBe(true);
  });
});

describe('matchesGlob', () => {
  it.each([
    ['acme/shop', 'acme/*', true],
    ['acme/shop', 'ACME/SHOP', true],
    ['acme/shop/deep', 'acme/*', false],
    ['acme/shop/deep', 'acme/**', true],
    ['https://example.org/acme/shop', '**/shop', true],
    ['acme/shop', 'shop', false],
    ['acme/shop', 'acme/sho?', true],
    ['acme/shop', 'acme?shop', false],
    ['a+b/(c)', 'a+b/(c)', true],
    ['', '*', true],
    ['x', '', false],
  ])('%s against %s is %s', (text, glob, expected) => {
    expect(matchesGlob(text, glob)).toBe(expected);
  });

  it('does not hang on a pattern of many stars', () => {
    expect(matchesGlob('a'.repeat(2000), `${'*a'.repeat(200)}b`)).toBe(false);
  });
});
