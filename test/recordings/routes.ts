/**
 * Which routes a server has: from the document of an app server, and from the declarations of the
 * agent server.
 */
import { AGENT_ROUTES } from '../../src/service/agent-server/app.ts';
import { isObject, type JsonObject } from './exchanges.ts';

/** The document of a server; recorded ones name only the methods of a path. */
export interface Document {
  paths: Record<string, JsonObject | string>;
}

export interface Routes {
  /** `METHOD /path/{id}` of a request; null when it is not served. */
  find(method: string, path: string): string | null;
}

export async function routesOf(url: string): Promise<Routes> {
  const response = await fetch(new URL('/openapi.json', url));
  return routesIn((await response.json()) as Document);
}

/** The routes of the agent server, which serves no document. */
export function routesOfAgentServer(): Routes {
  const paths: Document['paths'] = {};
  for (const { method, path } of AGENT_ROUTES) {
    paths[path] = [paths[path], method.toLowerCase()]
      .filter((each) => each !== undefined)
      .join(',');
  }
  return routesIn({ paths });
}

export function routesIn({ paths }: Document): Routes {
  const routes = Object.entries(paths).flatMap(([path, methods]) => {
    const literal = path
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/\{\w+(?::path)?\}/g, '[^/]+');
    // With a slash too many it is still that route: servers send the client there.
    const pattern = new RegExp(`^${literal}/?$`);
    return (isObject(methods) ? Object.keys(methods) : methods.split(',')).map((method) => ({
      method: method.toUpperCase(),
      path,
      pattern,
    }));
  });
  routes.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
  return {
    find(method, path) {
      const route = routes.find((one) => one.method === method && one.pattern.test(path));
      return route === undefined ? null : `${method} ${route.path}`;
    },
  };
}

export function withoutIds(path: string): string {
  return path.replace(
    /\/[0-9a-f]{32}(?=\/|$)|\/[0-9a-f]{8}-[0-9a-f-]{27}(?=\/|$)|\/(?=\w*\d)(?=\w*[A-Z])\w{18,24}(?=\/|$)/g,
    '/{id}',
  );
}
