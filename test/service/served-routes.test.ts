import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { allCommands } from '../../scripts/commands.ts';
import { ROUTES_PAGE, routesPage } from '../../scripts/served-routes.ts';
import { AGENT_ROUTES, AGENT_SOCKETS } from '../../src/service/agent-server/app.ts';
import { APP_ROUTES } from '../../src/service/app/app.ts';

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
  const routes = [...APP_ROUTES, ...AGENT_ROUTES].map(
    ({ method, path: at, callers }) => [`${method} ${at}`, callers] as const,
  );
  const callers = [...routes, ...Object.entries(AGENT_SOCKETS)].flatMap(([route, text]) =>
    text.split(', ').map((caller) => [route, caller] as const),
  );

  const unknown = callers.filter(([, caller]) => !known.has(caller));
  expect(unknown).toEqual([]);
});

it('docs/served-routes.md is generated from the routes', () => {
  const page = path.resolve(import.meta.dirname, '../..', ROUTES_PAGE);
  expect(readFileSync(page, 'utf8')).toBe(routesPage());
});
