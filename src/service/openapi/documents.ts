import * as agent from '../../protocol/agent-server/requests.ts';
import * as v0 from '../../protocol/v0/requests.ts';
import * as v1 from '../../protocol/v1/requests.ts';
import { AGENT_ROUTES, RELEASE } from '../agent-server/app.ts';
import * as agentRecords from '../agent-server/records.ts';
import { APP_ROUTES } from '../app/app.ts';
import * as appRecords from '../app/records.ts';
import * as records from '../http/records.ts';
import { openapiDocument, type Json } from './document.ts';

/** Features that no route shows, by their names in the client (src/client/shared/features.ts). */
const STATED_FEATURES = {
  'web-interface': false,
  'immediate-events': true,
  'old-v0-conversations': true,
  'v0-sandboxes': true,
  'local-paths': true,
  'demo-replay': true,
  'exec-socket': true,
};

const KEY = { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' };

export function appDocument(version: string): Json {
  const description = 'Serves the interface of OpenHands servers locally';
  return openapiDocument({
    info: { title: 'acs local service', description, version, 'x-features': STATED_FEATURES },
    routes: APP_ROUTES,
    modules: [
      [agent, ''],
      [v0, 'V0'],
      [v1, ''],
      [records, ''],
      [appRecords, ''],
    ],
    securitySchemes: {
      key: KEY,
      bearer: { type: 'http', scheme: 'bearer' },
      sandboxKey: { ...KEY, description: 'The key of the sandbox' },
      pageCookie: { type: 'apiKey', in: 'cookie', name: 'acs_page' },
    },
  });
}

export function agentDocument(): Json {
  return openapiDocument({
    info: { title: 'Agent server of the local service', version: RELEASE },
    routes: AGENT_ROUTES,
    modules: [
      [agent, ''],
      [records, ''],
      [agentRecords, ''],
    ],
    securitySchemes: { key: KEY },
  });
}
