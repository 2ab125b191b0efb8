import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { allCommands } from '../../scripts/commands.ts';
import { ROUTES_PAGE, routesPage } from '../../scripts/served-routes.ts';
import { createAgentApp } from '../../src/service/agent-server/app.ts';
import type { WorkerContext } from '../../src/service/agent-server/context.ts';
import { createApp } from '../../src/service/app/app.ts';
import type { AppContext } from '../../src/service/app/context.ts';
import {
  AGENT_ROUTES,
  AGENT_SOCKETS,
  APP_ROUTES,
  OPEN_ROUTES,
} from '../../src/service/http/served-routes.ts';

/** What building the routes uses of a context; no request is sent. */
const clock = { now: () => 0, stamp: () => '' };
const app = createApp({
  api: 'both',
  store: {},
  specs: {},
  clock,
  host: '',
  key: '',
} as unknown as AppContext);
const agent = createAgentApp({ nowMicroseconds: () => 0 } as unknown as WorkerContext);

/** `METHOD /path` of every handler, with `{}` for a part of the path. */
function routesOf(router: typeof app): string[] {
  const handlers = router.routes.filter(({ method }) => method !== 'ALL');
  return handlers
    .map(({ method, path: at }) => `${method} ${at.replace(/:\w+(?:\{[^}]*\})?/g, '{}')}`)
    .sort();
}

function listed(table: object): string[] {
  return Object.keys(table)
    .map((route) => route.replace(/\{[\w:]+\}/g, '{}'))
    .sort();
}

it('the app server serves the routes of the table and no others', () => {
  expect(routesOf(app)).toEqual(listed(APP_ROUTES));
});

it('the agent server serves the routes of the table and no others', () => {
  expect(routesOf(agent)).toEqual(listed(AGENT_ROUTES));
});

it('every route that needs no key is in a table', () => {
  const all: string[] = [...Object.keys(APP_ROUTES), ...Object.keys(AGENT_ROUTES)];
  expect([...OPEN_ROUTES].filter((route) => !all.includes(route))).toEqual([]);
});

it('every route names its callers, and a command of acs among them exists', async () => {
  const commands = (await allCommands()).map(({ path }) => path);
  const known = new Set([
    ...commands,
    'acs (probe)',
    'browser (acs conv open)',
    'cloud workspace',
    'cloud workspace 1.11.5',
    'local app server',
    'OpenHands frontend',
    'openhands CLI',
    'openhands-api skill',
    'sdk',
    'sdk 1.11.5',
    'typescript-client',
  ]);
  const rows = Object.entries({ ...APP_ROUTES, ...AGENT_ROUTES, ...AGENT_SOCKETS });
  const callers = rows.flatMap(([route, text]) =>
    text.split(', ').map((caller) => [route, caller] as const),
  );

  const unknown = callers.filter(([, caller]) => !known.has(caller));
  expect(unknown).toEqual([]);
});

it('docs/served-routes.md is generated from the tables', () => {
  const page = path.resolve(import.meta.dirname, '../..', ROUTES_PAGE);
  expect(readFileSync(page, 'utf8')).toBe(routesPage());
});
