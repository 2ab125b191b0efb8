import { describe, expect, it } from 'vitest';
import {
  isSelected,
  matchesRepository,
  type Selectable,
  type Selection,
} from '../../src/domain/selectors.ts';

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
  });

  it('counts the age since creation', () => {
    expect(selected({ olderThanMs: 6 * HOUR_MS })).toBe(true);
    expect(selected({ olderThanMs: 6 * HOUR_MS + 1 })).toBe(false);
  });

  it('treats a record as newer than an age that it has not reached', () => {
    expect(selected({ newerThanMs: 6 * HOUR_MS })).toBe(false);
    expect(selected({ newerThanMs: 6 * HOUR_MS + 1 })).toBe(true);
  });

  it('treats a record without a time neither as old nor as new', () => {
    expect(selected({ olderThanMs: 1 }, { created_at: null })).toBe(false);
    expect(selected({ newerThanMs: 1 }, { created_at: null })).toBe(false);
  });

  it('searches titles and repositories in any letter case', () => {
    expect(selected({ search: 'FLAKY' }, { title: 'Fix the flaky test' })).toBe(true);
    expect(selected({ search: 'Me/Do' }, { title: null })).toBe(true);
    expect(selected({ search: 'flaky' })).toBe(false);
  });

  it('treats a record as idle that has no run in progress and was not updated for that long', () => {
    expect(selected({ idleMs: HOUR_MS })).toBe(true);
    expect(selected({ idleMs: 2 * HOUR_MS })).toBe(false);
    expect(selected({ idleMs: HOUR_MS }, { running: true })).toBe(false);
    expect(selected({ idleMs: HOUR_MS }, { running: null })).toBe(false);
    expect(selected({ idleMs: 1 }, { created_at: null, updated_at: null })).toBe(false);
  });

  it('compares every repository', () => {
    expect(selected({ repo: ['acme/do*'] })).toBe(true);
    expect(selected({ repo: ['other/*'] })).toBe(false);
    expect(selected({ repo: ['other/*', 'acme/shop'] })).toBe(true);
  });

  it('matches a record without a spec with no named spec', () => {
    expect(selected({ spec: ['process'] }, { spec_id: null })).toBe(false);
  });
});

describe('matchesRepository', () => {
  it.each([
    ['acme/shop', 'acme/*', true],
    ['acme/shop', 'ACME/SHOP', true],
    ['acme/shop/deep', 'acme/*', true],
    ['https://example.org/acme/shop', '*/shop', true],
    ['acme/shop', 'shop', true],
    ['acme/shop', 'hop', false],
    ['acme/shop', 'acme', false],
    ['acme/shop', 'a*shop*p', false],
    ['acme/shop', 'a*/*p', true],
    ['acme/shop', 'a*x*p', false],
    ['a+b/(c)', 'a+b/(c)', true],
    ['', '*', true],
    ['x', '', false],
  ])('%s against %s is %s', (text, pattern, expected) => {
    expect(matchesRepository(text, pattern)).toBe(expected);
  });

  it('does not hang on a pattern of many stars', () => {
    expect(matchesRepository('a'.repeat(2000), `${'*a'.repeat(200)}b`)).toBe(false);
  });
});
