import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseScenario, readScenario, type FaultRule } from '../../../src/service/faults/schema.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

function fileOf(content: unknown): string {
  const file = path.join(folder.path, 'faults.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const read = (content: unknown): FaultRule[] => readScenario(fileOf(content));

describe('a scenario', () => {
  it('is a list of rules, or an object with a description', () => {
    const rule = { path: '/api/**', status: 503 };
    expect(read({ note: 'busy', rules: [rule] })).toEqual(read([rule]));
    expect(
      read([{ ...rule, note: 'busy', method: ['get', 'POST'], headers: { 'Retry-After': '1' } }]),
    ).toEqual([
      {
        name: 'rule 1 (busy)',
        server: 'app',
        methods: ['GET', 'POST'],
        path: '/api/**',
        after: 0,
        every: 1,
        latencyMs: 0,
        status: 503,
        headers: { 'Retry-After': '1' },
        delivered: false,
      },
    ]);
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
    [
      '{"rules": [{"status": 503}, {"status": 99}]}',
      'rule 2, status: it must be a status from 200 to 599',
    ],
    ['[{"status": "503"}]', 'rule 1, status: '],
    ['[{"latency": "5"}]', 'rule 1, latency: it must be a duration such as "500ms"'],
    ['[{"latency": 5}]', 'rule 1, latency: '],
    ['[{"times": 0, "status": 500}]', 'rule 1, times: it must be an integer of at least 1'],
    ['[{"after": -1, "status": 500}]', 'rule 1, after: it must be an integer of at least 0'],
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

  it('that cannot be read is refused with its path, and without a hint about its rules', () => {
    const unread = (message: string) =>
      expect.objectContaining({
        message: expect.stringContaining(message) as string,
        hint: undefined,
      }) as Error;
    const missing = path.join(folder.path, 'none.json');
    expect(() => readScenario(missing)).toThrow(unread('none.json: there is no such file'));
    expect(() => readScenario(folder.path)).toThrow(unread('it is not a regular file'));
  });
});

describe('a rule', () => {
  it('passes a request to the service unless a rule has another answer, or none', () => {
    const delivered = (rule: object) => parseScenario([rule]).rules[0]?.delivered;
    expect(delivered({ latency: '1s' })).toBe(true);
    expect(delivered({ headers: { 'X-Part': '1' } })).toBe(true);
    expect(delivered({ cut: 'mid-body' })).toBe(true);
    expect(delivered({ status: 500 })).toBe(false);
    expect(delivered({ body: {} })).toBe(false);
    expect(delivered({ cut: 'before-headers' })).toBe(false);
    expect(delivered({ cut: 'before-headers', delivered: true })).toBe(true);
  });

  it('sends a text as it is and everything else as JSON', () => {
    const [page, record] = parseScenario([{ body: '<html>' }, { body: { items: null } }]).rules;
    expect([page?.body, page?.contentType]).toEqual(['<html>', 'text/plain; charset=utf-8']);
    expect([record?.body, record?.contentType]).toEqual(['{"items":null}', undefined]);
  });
});
