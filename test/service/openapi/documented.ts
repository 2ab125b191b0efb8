import * as v from 'valibot';
import { expect } from 'vitest';
import type { RouteDeclaration } from '../../../src/service/http/route.ts';

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
 * Fails for an answer of a route with a status, or with JSON, that its declaration does not
 * have.
 */
export function expectDocumented(routes: readonly RouteDeclaration[], exchange: Exchange): void {
  const { method, path, status, headers, body } = exchange;
  const declaration = routeOf(routes, method, path.replace(/\?[^]*$/, ''));
  const isOfRouter =
    status === 404 && (body as { detail?: unknown } | null)?.detail === 'Not Found';
  if (declaration === undefined || isOfRouter) return;
  const route = `${method} ${declaration.path}`;
  const content = declaration.answers[status];
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
function routeOf(
  routes: readonly RouteDeclaration[],
  method: string,
  path: string,
): RouteDeclaration | undefined {
  const matching = routes.filter((route) => {
    const source = route.path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+:path\}/g, '.+');
    return (
      route.method === method && new RegExp(`^${source.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
    );
  });
  return matching.find((route) => !route.path.includes('{')) ?? matching[0];
}
