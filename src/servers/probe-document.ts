/** What /openapi.json shows: the dialects, the release, and which calls and members there are. */
import { asRecord, isRecord, type Json } from '../protocol/shape.ts';
import { presenceOf, STATED_FEATURES, type Features } from './features.ts';

export interface DocumentFacts {
  v1: boolean;
  v0: boolean;
  local: boolean;
  version: string | null;
  features: Features;
  /** Every member that a V1 start takes; null where the document does not list them. */
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
  return {
    v1,
    v0,
    local: title === LOCAL_TITLE,
    version: releaseOf(info['version']),
    ...featuresOf(document, paths, { v1, v0 }),
  };
}

function featuresOf(
  document: Json,
  paths: Json,
  { v1, v0 }: { v1: boolean; v0: boolean },
): Pick<DocumentFacts, 'features' | 'v1StartMembers'> {
  const has = (pattern: RegExp, method?: string): boolean => hasRoute(paths, pattern, method);
  const members = v1 ? bodyMembers(document, /^\/api\/v1\/app-conversations$/, 'post') : null;
  const takes = (name: string): boolean | null => (v1 ? (members?.has(name) ?? null) : false);
  const titles = bodyMembers(document, ONE_CONVERSATION, 'patch');
  const features: Features = {
    replay: presenceOf(v0 || takes('replay_json')),
    'caller-conversation-id': presenceOf(takes('conversation_id')),
    'send-message': presenceOf(has(/\/send-message$/)),
    'delete-conversation': presenceOf(has(ONE_CONVERSATION, 'delete')),
    rename: presenceOf(has(ONE_CONVERSATION, 'patch') && (titles?.has('title') ?? null)),
    'v1-settings': presenceOf(has(/^\/api\/v1\/settings$/)),
    'settings-schema': presenceOf(has(/^\/api\/v1\/settings\/agent-schema$/)),
    'model-profiles': presenceOf(has(/^\/api\/v1\/settings\/profiles$/)),
    secrets: presenceOf(has(/^\/api(\/v1)?\/secrets(\/search)?$/)),
    'v1-secrets': presenceOf(has(/^\/api\/v1\/secrets(\/search)?$/)),
    'git-providers': presenceOf(has(/^\/api\/(add-git-providers|v1\/secrets\/git-providers)$/, 'post')),
    repositories: presenceOf(has(/^\/api\/(user\/repositories|v1\/git\/repositories\/search)$/)),
    'v1-git': presenceOf(has(/^\/api\/v1\/git\/repositories\/search$/)),
    events: presenceOf(has(/\/events(\/search)?$/)),
    sandboxes: presenceOf(has(/^\/api\/v1\/sandboxes\/search$/)),
    'page-links': presenceOf(has(/^\/local\/conversations\/\{\w+\}\/page-link$/, 'post')),
    ...statedFeatures(document),
  };
  return { features, v1StartMembers: members === null ? null : [...members] };
}

/** A document that states nothing is that of an OpenHands server: its frontend is part of the release. */
const UNSTATED: Record<(typeof STATED_FEATURES)[number], boolean> = {
  'web-interface': true,
  'immediate-events': false,
  'old-v0-conversations': false,
  'v0-sandboxes': false,
  'local-paths': false,
  'demo-replay': false,
  'exec-socket': false,
};

function statedFeatures(document: Json): Pick<Features, (typeof STATED_FEATURES)[number]> {
  const info = isRecord(document['info']) ? document['info'] : {};
  const stated = isRecord(info['x-features']) ? info['x-features'] : {};
  const features: Partial<Features> = {};
  for (const name of STATED_FEATURES) {
    const value = stated[name];
    features[name] = presenceOf(typeof value === 'boolean' ? value : UNSTATED[name]);
  }
  return features as Pick<Features, (typeof STATED_FEATURES)[number]>;
}

/** Changes of one conversation of V1. */
const ONE_CONVERSATION = /^\/api\/v1\/app-conversations\/\{\w+\}$/;

/** 0.0.1 and 0.1.0 are not releases (interface 13 "Documents"). */
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

/** Members of a JSON body by name; null where the document does not list them. */
function bodyMembers(document: Json, pattern: RegExp, method: string): Set<string> | null {
  const paths = asRecord(document['paths'], 'paths');
  const path = Object.keys(paths).find((name) => pattern.test(name));
  let value: unknown = path === undefined ? null : paths[path];
  for (const name of [method, 'requestBody', 'content', 'application/json', 'schema']) {
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
