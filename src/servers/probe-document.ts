/** What /openapi.json tells: the dialects, the release, and which calls and members there are. */
import { asRecord, isRecord, type Json } from '../protocol/shape.ts';
import type { Feature } from './server.ts';

export interface DocumentFacts {
  v1: boolean;
  v0: boolean;
  local: boolean;
  version: string | null;
  features: Feature[];
  v1Replay: boolean;
  /** A start takes the confirmation policy, which then stands before the first step. */
  v1Confirmation: boolean;
  /** Every member that a V1 start takes; null where the document does not tell. */
  v1StartMembers: string[] | null;
}

/** Title of the document of the local service. */
const LOCAL_TITLE = 'acs local service';
const AGENT_SERVER_TITLE = 'OpenHands Agent Server';

/** Whether this is the document of the server inside a sandbox, which answers on a port of its own. */
export function isAgentServer(document: unknown): boolean {
  return isRecord(document) && isRecord(document['info']) && document['info']['title'] === AGENT_SERVER_TITLE;
}

/** Null when this is no such document. */
export function documentFacts(document: unknown): DocumentFacts | null {
  if (!isRecord(document) || !isRecord(document['paths'])) return null;
  const paths = document['paths'];
  const info = isRecord(document['info']) ? document['info'] : {};
  const title = typeof info['title'] === 'string' ? info['title'] : '';
  if (isAgentServer(document)) return null;
  const has = (pattern: RegExp, method?: string): boolean => hasRoute(paths, pattern, method);
  const v1 = has(/^\/api\/v1\/app-conversations(\/search)?$/);
  const v0 = has(/^\/api\/conversations$/);
  if (!v1 && !v0) return null;
  const startMembers = v1 ? bodyMembers(document, '/api/v1/app-conversations', 'post') : null;
  const v1Replay = startMembers?.has('replay_json') ?? false;
  const v1Confirmation = startMembers?.has('confirmation_policy') ?? false;
  const features: Feature[] = [];
  const add = (feature: Feature, there: boolean): void => {
    if (there) features.push(feature);
  };
  add('replay', v0 || v1Replay);
  add('caller-conversation-id', startMembers?.has('conversation_id') ?? v1);
  add('send-message', has(/\/send-message$/));
  add('git-changes', has(/\/git\/changes$/));
  add('delete-conversation', has(/^\/api\/v1\/app-conversations\/\{\w+\}$/, 'delete'));
  add('v1-settings', has(/^\/api\/v1\/settings$/));
  add('settings-schema', has(/^\/api\/v1\/settings\/agent-schema$/));
  add('model-profiles', has(/^\/api\/v1\/settings\/profiles$/));
  add('secrets', has(/^\/api(\/v1)?\/secrets(\/search)?$/));
  add('events', has(/\/events(\/search)?$/));
  add('sandboxes', has(/^\/api\/v1\/sandboxes\/search$/));
  return {
    v1,
    v0,
    local: title === LOCAL_TITLE,
    version: releaseOf(info['version']),
    features,
    v1Replay,
    v1Confirmation,
    v1StartMembers: startMembers === null ? null : [...startMembers],
  };
}

/** 0.0.1 and 0.1.0 are the framework's and the cloud's fillers, no release. */
function releaseOf(version: unknown): string | null {
  return typeof version === 'string' && version !== '0.0.1' && version !== '0.1.0' ? version : null;
}

function hasRoute(paths: Json, pattern: RegExp, method?: string): boolean {
  return Object.entries(paths).some(([path, item]) => {
    if (!pattern.test(path)) return false;
    if (method === undefined) return true;
    // A shortened document may list the methods as text.
    return typeof item === 'string' ? item.split(',').includes(method) : isRecord(item) && method in item;
  });
}

/** Members of a JSON body by name; null where the document does not tell. */
function bodyMembers(document: Json, path: string, method: string): Set<string> | null {
  let value: unknown = document;
  for (const name of ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']) {
    if (!isRecord(value)) return null;
    value = value[name];
  }
  for (let hops = 0; hops < 5 && isRecord(value) && typeof value['$ref'] === 'string'; hops++) {
    value = resolve(document, value['$ref']);
  }
  return isRecord(value) && isRecord(value['properties']) ? new Set(Object.keys(value['properties'])) : null;
}

function resolve(document: Json, reference: string): unknown {
  let value: unknown = document;
  for (const part of reference.replace(/^#\//, '').split('/'))
    value = isRecord(value) ? asRecord(value, 'document')[part] : null;
  return value;
}
