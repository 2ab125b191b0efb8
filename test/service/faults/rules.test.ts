import { describe, expect, it } from 'vitest';
import { createFaultRules } from '../../../src/service/faults/rules.ts';
import { type FaultRule, parseScenario } from '../../../src/service/faults/schema.ts';

const read = (rules: unknown): FaultRule[] => parseScenario(rules).rules;

describe('the fault rules', () => {
  const hits = (rules: unknown, paths: string[], method = 'GET') => {
    const faultRules = createFaultRules(read(rules), () => undefined);
    return paths.map((each) => faultRules({ method, path: each, isSocket: false })?.name ?? '-');
  };
  const times = (count: number, what = '/a') => Array.from({ length: count }, () => what);

  it('skip the first requests, then match every n-th, a limited number of times', () => {
    expect(hits([{ status: 500, after: 1, times: 2 }], times(5))).toEqual([
      '-',
      'rule 1',
      'rule 1',
      '-',
      '-',
    ]);
    expect(hits([{ status: 500, every: 3, times: 2 }], times(10)).join('')).toBe(
      '--rule 1--rule 1----',
    );
  });

  it('apply in sequence: a request that one rule matches is not counted by the next', () => {
    const rules = [
      { status: 503, times: 2 },
      { cut: 'before-headers', after: 1, times: 1 },
    ];
    expect(hits(rules, times(6))).toEqual(['rule 1', 'rule 1', '-', 'rule 2', '-', '-']);
  });

  it('match one path segment by one star and any number by two', () => {
    const hit = (pattern: string, ...paths: string[]) =>
      hits([{ path: pattern, status: 500 }], paths);
    expect(hit('/api/*/x', '/api/v1/x', '/api/v1/y/x', '/api/x')).toEqual(['rule 1', '-', '-']);
    expect(hit('/api/**', '/api/v1/x', '/api', '/apis', '/')).toEqual([
      'rule 1',
      'rule 1',
      '-',
      '-',
    ]);
    expect(hit('/**/search', '/api/v1/search', '/search/x')).toEqual(['rule 1', '-']);
    expect(hit('/a.b(c)', '/a.b(c)', '/axb(c)')).toEqual(['rule 1', '-']);
  });

  it('match by method, and rules for web sockets do not match requests', () => {
    expect(hits([{ method: 'post', status: 500 }], ['/a'])).toEqual(['-']);
    expect(hits([{ method: 'post', status: 500 }], ['/a'], 'POST')).toEqual(['rule 1']);
    const socket = [{ server: 'agent', cut: 'after-frames', frames: 2 }];
    expect(hits(socket, ['/sockets/events/x'])).toEqual(['-']);
    const faultRules = createFaultRules(read(socket), () => undefined);
    expect(faultRules({ method: 'GET', path: '/sockets/events/x', isSocket: true })?.frames).toBe(
      2,
    );
  });

  it('log each request with the rule that it matched', () => {
    const lines: string[] = [];
    const [late] = [{ note: 'slow day', latency: '2s', status: 503 }];
    createFaultRules(read([late]), (line) => lines.push(line))({
      method: 'GET',
      path: '/a',
      isSocket: false,
    });
    expect(lines).toEqual([
      'fault: GET /a matched rule 1 (slow day): 2000 ms late, status 503, not delivered',
    ]);
  });
});
