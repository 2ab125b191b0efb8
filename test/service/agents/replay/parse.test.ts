import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTrajectory, ReplayError } from '../../../../src/service/agents/replay/parse.ts';
import { readSteps } from '../../../../src/service/agents/replay/schema.ts';
import { parse, said, v1 } from './support.ts';

const examples = path.resolve(import.meta.dirname, '../../../../examples');

describe('the form of the file', () => {
  const list = [v1({ kind: 'FinishAction', message: 'end' })];

  it.each(['trajectory', 'history', 'events', 'items'])('may be an object with the list as %s', (name) => {
    expect(parse({ [name]: list }).steps).toHaveLength(1);
  });

  it('may be one event a line, with a byte order mark and empty lines', () => {
    const lines = [said('user', 'x'), ...list].map((event) => JSON.stringify(event)).join('\n\n');
    expect(parseTrajectory(`\uFEFF${lines}\n`).steps).toHaveLength(1);
  });
});

describe('events as acs prints them', () => {
  const printed = [said('user', 'x'), v1({ kind: 'FinishAction', message: 'end' })].map((payload) => ({
    type: 'event',
    kind: payload.kind,
    text: 'a line',
    payload,
  }));

  it('are parsed like the events of the server', () => {
    expect(parse({ items: printed, has_more: false })).toMatchObject({
      steps: [{ type: 'finish' }],
      user_message: 'x',
    });
  });

  it('may be between the lines of the start and the outcome', () => {
    const lines = [{ type: 'started', id: 'a' }, ...printed, { type: 'outcome', status: 'finished' }];
    expect(parseTrajectory(lines.map((line) => JSON.stringify(line)).join('\n')).steps).toHaveLength(1);
  });
});

describe('a malformed trajectory is refused with the position of the error', () => {
  it.each([
    ['', 'the file is empty'],
    ['{"a":', 'not JSON'],
    ['{"a":1}', 'an array of events, or an object with one as trajectory'],
    ['"text"', 'a trajectory is an array of events'],
    ['[]', 'holds no action of an agent'],
    ['[1]', 'event 1: an object is expected'],
    ['[{"x":1}]', 'event 1: neither "kind" (V1) nor "action" or "observation" (V0) is there'],
    ['{"kind":"FinishAction","message":"x"}\n{"kind":', 'line 2: not JSON'],
  ])('%s', (text, words) => {
    expect(() => parseTrajectory(text)).toThrow(ReplayError);
    expect(() => parseTrajectory(text)).toThrow(words);
  });
});

describe('the supplied trajectories', () => {
  it.each(readdirSync(examples).filter((name) => /\.v[01]\.json$/.test(name)))('%s can be', (name) => {
    const { steps, user_message } = parseTrajectory(readFileSync(path.join(examples, name), 'utf8'));
    expect(steps.at(-1)?.type).toBe('finish');
    expect(user_message).not.toBe(null);
    expect(readSteps(steps)).toEqual(steps);
  });
});
