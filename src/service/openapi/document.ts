import { STATUS_CODES } from 'node:http';
import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { refusal, validationError } from '../http/records.ts';
import type { RouteDeclaration } from '../http/route.ts';

export type Json = Record<string, unknown>;

export interface Definition {
  info: Json;
  routes: readonly RouteDeclaration[];
  /** The modules whose schemas are components, each with a suffix of their names. */
  modules: readonly (readonly [module: object, ending: string])[];
  securitySchemes: Json;
}

export function openapiDocument({ info, routes, modules, securitySchemes }: Definition): Json {
  const definitions = Object.fromEntries(
    modules.flatMap(([module, ending]) => named(module, ending)),
  );
  const schemaOf = (schema: v.GenericSchema): Json => {
    const { $schema: _, $defs: __, ...own } = toJsonSchema(schema, { ...CONFIG, definitions });
    return own;
  };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(':path}', '}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route, path, schemaOf);
  }
  const schemas = referenced(paths, toJsonSchemaDefs(definitions, CONFIG));
  const security = ['key', 'bearer']
    .filter((name) => name in securitySchemes)
    .map((name) => ({ [name]: [] }));
  return { openapi: '3.1.0', info, security, paths, components: { schemas, securitySchemes } };
}

const CONFIG: ConversionConfig = {
  target: 'draft-2020-12',
  // JSON Schema cannot state a rule in code or flags of a pattern: the document permits more.
  errorMode: 'ignore',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
};
const BINARY = { type: 'string', format: 'binary' };
const OPTIONAL: readonly string[] = ['optional', 'nullish'];

function named(module: object, ending: string): [string, v.GenericSchema][] {
  const schemas = Object.entries(module).filter(
    (entry): entry is [string, v.GenericSchema] =>
      (entry[1] as { kind?: unknown } | null)?.kind === 'schema',
  );
  return schemas.map(([name, schema]) => [
    `${name.charAt(0).toUpperCase()}${name.slice(1)}${ending}`,
    schema,
  ]);
}

/** The members that are undefined are left out of the text of the document. */
function operation(
  { method, path: template, access, parts = {}, query, headers = [], ...route }: RouteDeclaration,
  path: string,
  schemaOf: (schema: v.GenericSchema) => Json,
): Json {
  const contentOf = (content: v.GenericSchema | string): Json => {
    if (typeof content !== 'string') return { 'application/json': { schema: schemaOf(content) } };
    return { [content]: { schema: content.startsWith('text/') ? { type: 'string' } : BINARY } };
  };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = [
    ...names.map((name) => parameter('path', name, true, schemaOf(parts[name] ?? v.string()))),
    ...Object.entries(query?.entries ?? {}).map(([name, schema]) =>
      parameter('query', name, !OPTIONAL.includes(schema.type), schemaOf(schema)),
    ),
    ...headers.map((name) => parameter('header', name, false, { type: 'string' })),
  ];
  const isChecked = [query, route.body, route.file, ...Object.values(parts)].some(Boolean);
  const answers = Object.entries({
    ...(access === undefined ? { 401: refusal } : {}),
    ...(route.body === undefined ? {} : { 413: refusal }),
    ...(isChecked ? { 422: validationError } : {}),
    ...route.answers,
  } as RouteDeclaration['answers']);
  const responses = answers.map(([status, content]) => {
    const description = STATUS_CODES[status] ?? '';
    return [status, { description, content: content === null ? undefined : contentOf(content) }];
  });
  const operationId = `${method} ${template}`.toLowerCase().replace(/\W+/g, '_').replace(/_$/, '');
  return {
    operationId,
    security: securityOf(access),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: requestBodyOf(route, contentOf),
    responses: Object.fromEntries(responses) as Json,
  };
}

function securityOf(access: RouteDeclaration['access']): Json[] | undefined {
  if (access === undefined) return undefined;
  // A link is for a browser, which gets the cookie.
  const scheme = access === 'pageLink' ? 'pageCookie' : access;
  return access === 'open' ? [] : [{ [scheme]: [] }];
}

function parameter(
  place: 'path' | 'query' | 'header',
  name: string,
  required: boolean,
  schema: Json,
): Json {
  return { name, in: place, ...(required ? { required } : {}), schema };
}

function requestBodyOf(
  { body, emptyBody, file }: Pick<RouteDeclaration, 'body' | 'emptyBody' | 'file'>,
  contentOf: (schema: v.GenericSchema) => Json,
): Json | undefined {
  if (file !== undefined) {
    const schema = { type: 'object', properties: { [file]: BINARY }, required: [file] };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  return body && { required: emptyBody === undefined, content: contentOf(body) };
}

function referenced(paths: Json, all: Readonly<Record<string, object>>): Record<string, object> {
  const found = new Set<string>();
  const collect = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (found.has(name)) continue;
      found.add(name);
      collect(all[name]);
    }
  };
  collect(paths);
  return Object.fromEntries([...found].sort().map((name) => [name, all[name] ?? {}]));
}
