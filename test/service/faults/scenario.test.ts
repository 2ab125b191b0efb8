import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createFaultRules } from '../../../src/service/faults/rules.ts';
import { readScenario, type FaultRule } from '../../../src/service/faults/scenario.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-scenario-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function fileOf(content: unknown): string {
  const file = path.join(dir, 'faults.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const read = (content: unknown): FaultRule[] => readScenario(fileOf(content));

describe('a scenario', () => {
  it('is a list of rules, or an object with a description', () => {
    const rule = { path: '/api/**', status: 503 };
    expect(read({ note: 'busy', rules: [rule] })).toEqual(read([rule]));
    expect(read([{ ...rule, note: 'busy', method: ['get', 'POST'], headers: { 'Retry-After': '1' } }])).toEqual([
      {
        name: 'rule 1 (busy)',
        server: 'app',
        methods: ['GET', 'POST'],
        path: '/api/**',
        after: 0,
        every: 1,
        times: null,
        latencyMs: 0,
        status: 503,
        headers: { 'Retry-After': '1' },
        body: null,
        contentType: null,
        cut: null,
        frames: 0,
        delivered: false,
      },
    ]);
  });

  it('passes a request to the service unless a rule has another answer, or none', () => {
    const delivered = (rule: object) => read([rule])[0]?.delivered;
    expect(delivered({ latency: '1s' })).toBe(true);
    expect(delivered({ headers: { 'X-Part': '1' } })).toBe(true);
    expect(delivered({ cut: 'mid-body' })).toBe(true);
    expect(delivered({ status: 500 })).toBe(false);
    expect(delivered({ body: {} })).toBe(false);
    expect(delivered({ cut: 'before-headers' })).toBe(false);
    expect(delivered({ cut: 'before-headers', delivered: true })).toBe(true);
  });

  it('sends a text as it is and everything else as JSON', () => {
    const [page, record] = read([{ body: '<html>' }, { body: { items: null } }]);
    expect([page?.body, page?.contentType]).toEqual(['<html>', 'text/plain; charset=utf-8']);
    expect([record?.body, record?.contentType]).toEqual(['{"items":null}', null]);
  });

  it.each([
    ['', 'line 1, column 1: Unexpected end of JSON input'],
    ['{"rules": [\n  {"status": 5 03}]}', 'line 2, column 16: '],
    ['[}', 'Unexpected token'],
    ['5', 'the whole file: it must be a list of rules, or an object with the member "rules"'],
    ['[]', 'the whole file: it holds no rule'],
    ['{"rules": 1}', 'rules: it must be a list of rules'],
    ['{"rule": []}', 'rule: there is no such member'],
    ['[7]', 'rule 1: it must be an object'],
    ['[{"stauts": 503}]', 'rule 1, stauts: there is no such member'],
    ['{"rules": [{"status": 503}, {"status": 99}]}', 'rule 2, status: it must be a status from 200 to 599'],
    ['[{"status": "503"}]', 'rule 1, status: '],
    ['[{"latency": "5"}]', 'rule 1, latency: it must be a duration such as "500ms"'],
    ['[{"latency": 5}]', 'rule 1, latency: '],
    ['[{"times": 0, "status": 500}]', 'rule 1, times: it must be a whole number of at least 1'],
    ['[{"after": -1, "status": 500}]', 'rule 1, after: it must be a whole number of at least 0'],
    ['[{"path": "api", "status": 500}]', 'rule 1, path: it must begin with a slash'],
    ['[{"path": "/api?x=1", "status": 500}]', 'rule 1, path: '],
    ['[{"method": "G T", "status": 500}]', 'rule 1, method: '],
    ['[{"method": [], "status": 500}]', 'rule 1, method: '],
    ['[{"server": "worker", "status": 500}]', 'rule 1, server: it must be "app" or "agent"'],
    ['[{"headers": {"X Y": "1"}}]', 'rule 1, headers: '],
    ['[{"headers": {"X-Y": "a\\nb"}}]', 'rule 1, headers: '],
    ['[{"headers": {"Content-Length": "3"}}]', 'rule 1, headers: '],
    ['[{"cut": "sometimes"}]', 'rule 1, cut: it must be one of "before-headers"'],
    ['[{"path": "/api"}]', 'rule 1: it does nothing'],
    ['[{"cut": "after-frames", "server": "agent"}]', 'go together'],
    ['[{"frames": 3, "status": 500}]', 'go together'],
    ['[{"cut": "after-frames", "frames": 3}]', 'needs "server": "agent"'],
    ['[{"cut": "before-headers", "status": 500}]', 'nothing of an answer is sent'],
    ['[{"latency": "1s", "delivered": false}]', '"delivered": false needs an answer'],
    ['[{"status": 204, "body": "x"}]', 'status 204 has no body'],
  ])('%s is refused with the position and the error', (content, words) => {
    const file = fileOf(content);
    const refusal = { code: 'scenario', message: expect.stringContaining(words) as string };
    expect(() => readScenario(file)).toThrow(expect.objectContaining(refusal) as Error);
    expect(() => readScenario(file)).toThrow(file);
  });

  it('that cannot be read is refused with its path', () => {
    expect(() => readScenario(path.join(dir, 'none.json'))).toThrow('none.json: there is no such file');
    mkdirSync(path.join(dir, 'folder'));
    expect(() => readScenario(path.join(dir, 'folder'))).toThrow('it is not a regular file');
  });
});

describe('the fault rules', () => {
  const hits = (rules: unknown, paths: string[], method = 'GET') => {
    const faultRules = createFaultRules(read(rules), () => undefined);
    return paths.map((each) => faultRules.next({ method, path: each, isSocket: false })?.name ?? '-');
  };
  const times = (count: number, what = '/a') => Array.from({ length: count }, () => what);

  it('skip the first requests, then match every n-th, a limited number of times', () => {
    expect(hits([{ status: 500, after: 1, times: 2 }], times(5))).toEqual(['-', 'rule 1', 'rule 1', '-', '-']);
    expect(hits([{ status: 500, every: 3, times: 2 }], times(10)).join('')).toBe('--rule 1--rule 1----');
  });

  it('apply in sequence: a request that one rule matches is not counted by the next', () => {
    const rules = [
      { status: 503, times: 2 },
      { cut: 'before-headers', after: 1, times: 1 },
    ];
    expect(hits(rules, times(6))).toEqual(['rule 1', 'rule 1', '-', 'rule 2', '-', '-']);
  });

  it('match one path segment by one star and any number by two', () => {
    const hit = (pattern: string, ...paths: string[]) => hits([{ path: pattern, status: 500 }], paths);
    expect(hit('/api/*/x', '/api/v1/x', '/api/v1/y/x', '/api/x')).toEqual(['rule 1', '-', '-']);
    expect(hit('/api/**', '/api/v1/x', '/api', '/apis', '/')).toEqual(['rule 1', 'rule 1', '-', '-']);
    expect(hit('/**/search', '/api/v1/search', '/search/x')).toEqual(['rule 1', '-']);
    expect(hit('/a.b(c)', '/a.b(c)', '/axb(c)')).toEqual(['rule 1', '-']);
  });

  it('match by method, and rules for web sockets do not match requests', () => {
    expect(hits([{ method: 'post', status: 500 }], ['/a'])).toEqual(['-']);
    expect(hits([{ method: 'post', status: 500 }], ['/a'], 'POST')).toEqual(['rule 1']);
    const socket = [{ server: 'agent', cut: 'after-frames', frames: 2 }];
    expect(hits(socket, ['/sockets/events/x'])).toEqual(['-']);
    const faultRules = createFaultRules(read(socket), () => undefined);
    expect(faultRules.next({ method: 'GET', path: '/sockets/events/x', isSocket: true })?.frames).toBe(2);
  });

  it('log each request with the rule that it matched', () => {
    const lines: string[] = [];
    const [late] = [{ note: 'slow day', latency: '2s', status: 503 }];
    createFaultRules(read([late]), (line) => lines.push(line)).next({ method: 'GET', path: '/a', isSocket: false });
    expect(lines).toEqual(['fault: GET /a met rule 1 (slow day): 2000 ms late, status 503, not delivered']);
  });
});
