import * as v from 'valibot';
import { expect } from 'vitest';
import type { Answers } from '../../../src/service/openapi/document.ts';

interface Exchange {
  method: string;
  /** With the query. */
  path: string;
  status: number;
  headers: Headers;
  body: unknown;
}

/** What any route may answer: a request that the server refuses as a whole, and a failed write. */
const GENERAL = [401, 403, 413, 422, 500, 507];

/**
 * Fails for an answer of a route with a status, or with JSON, that the table of the server does not
 * have.
 */
export function expectDocumented(
  tables: Readonly<Record<string, Answers>>,
  exchange: Exchange,
): void {
  const { method, path, status, headers, body } = exchange;
  const route = routeOf(tables, `${method} ${path.replace(/\?[^]*$/, '')}`);
  const isOfRouter =
    status === 404 && (body as { detail?: unknown } | null)?.detail === 'Not Found';
  if (route === undefined || isOfRouter) return;
  const content = tables[route]?.[status];
  if (content === undefined) expect(GENERAL, `the status of ${route}`).toContain(status);
  if (content == null || GENERAL.includes(status)) return;
  const type = headers.get('content-type')?.replace(/;.*$/, '');
  expect(type, `the type of ${route}`).toBe(
    typeof content === 'string' ? content : 'application/json',
  );
  if (typeof content === 'string') return;
  const { issues = [] } = v.safeParse(content, body);
  const differing = issues.map((issue) => `${v.getDotPath(issue) ?? ''}: ${issue.message}`);
  expect(differing, `${route} with ${status}: ${JSON.stringify(body).slice(0, 1000)}`).toEqual([]);
}

/** One without a part in its path takes precedence. */
function routeOf(tables: object, request: string): string | undefined {
  const matching = Object.keys(tables).filter((route) => {
    const source = route.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+:path\}/g, '.+');
    return new RegExp(`^${source.replace(/\{\w+\}/g, '[^/]+')}$`).test(request);
  });
  return matching.find((route) => !route.includes('{')) ?? matching[0];
}
