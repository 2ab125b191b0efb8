import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type FaultRule, scenarioSchema } from '../../../src/service/faults/schema.ts';

const read = (rules: unknown): FaultRule[] => v.parse(scenarioSchema(rules), rules);

describe('a rule', () => {
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
});
