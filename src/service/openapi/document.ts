/**
 * The OpenAPI document of a server: requests as its handlers check them, answers as a table lists
 * them.
 */
import { STATUS_CODES } from 'node:http';
import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema';
import * as v from 'valibot';
import type { Handlers, Takes } from '../http/route.ts';
import { OPEN_ROUTES } from '../http/served-routes.ts';
import { refusal, validationError } from './records.ts';

/** The schema of JSON, the media type of another body, or null without a body. */
type Content = v.GenericSchema | string | null;

/**
 * By status. 401, 413 and 422 are added to a route that may answer with them and does not list
 * them.
 */
export interface Answers {
  readonly [status: number]: Content;
  /** What a route requires that is served without the key of the server; absent: nothing. */
  readonly security?: 'sandboxKey' | 'pageCookie';
  readonly headers?: readonly string[];
}

/** Statuses with an error in `detail`. */
export function refused(...statuses: number[]): Answers {
  return Object.fromEntries(statuses.map((status) => [status, refusal]));
}

export type Json = Record<string, unknown>;

export interface Definition<Route extends string> {
  info: Json;
  handlers: Handlers<Route>;
  answers: Readonly<Record<Route, Answers>>;
  /** The modules whose schemas are components, each with a suffix of their names. */
  modules: readonly (readonly [module: object, ending: string])[];
  /** The schemas of the parts of a path that are checked, by their names. */
  partsOf: (path: string) => Readonly<Record<string, v.GenericSchema>>;
  securitySchemes: Json;
}

/**
 * Throws for a route that is served and not in the table, and for one in the table that is not
 * served.
 */
export function openapiDocument<Route extends string>(definition: Definition<Route>): Json {
  const { info, handlers, answers, modules, partsOf, securitySchemes } = definition;
  const routes = Object.keys(answers) as Route[];
  const differing = [
    ...Object.keys(handlers).filter((route) => !(route in answers)),
    ...routes.filter((route) => handlers[route] === undefined),
  ];
  if (differing.length > 0)
    throw new Error(`served or documented, not both: ${differing.join(', ')}`);

  const definitions = Object.fromEntries(
    modules.flatMap(([module, ending]) => named(module, ending)),
  );
  const config: ConversionConfig = {
    target: 'draft-2020-12',
    // What JSON Schema cannot state (a rule in code, flags of a pattern) is left out: the document
    // permits more.
    errorMode: 'ignore',
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  };
  const schemaOf = (schema: v.GenericSchema): Json => {
    const { $schema: _, $defs: __, ...own } = toJsonSchema(schema, { ...config, definitions });
    return own;
  };
  const contentOf = (content: v.GenericSchema | string): Json =>
    typeof content === 'string'
      ? { [content]: { schema: content.startsWith('text/') ? { type: 'string' } : BINARY } }
      : { 'application/json': { schema: schemaOf(content) } };

  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const { security: own, headers = [], ...listed } = answers[route];
    const { takes = {} } = handlers[route] ?? {};
    const [method = '', template = ''] = route.split(' ');
    const path = template.replaceAll(':path}', '}');
    const checkedParts = partsOf(template);
    const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const parameters = [
      ...parts.map((name) =>
        parameter('path', name, true, schemaOf(checkedParts[name] ?? v.string())),
      ),
      ...Object.entries(takes.query?.entries ?? {}).map(([name, schema]) =>
        parameter('query', name, !OPTIONAL.includes(schema.type), schemaOf(schema)),
      ),
      ...headers.map((name) => parameter('header', name, false, { type: 'string' })),
    ];
    const isOpen = OPEN_ROUTES.has(route);
    const isChecked = Object.keys(takes).length > 0 || parts.some((name) => name in checkedParts);
    const contents: Record<string, Content> = {
      ...(isOpen ? {} : { 401: refusal }),
      ...(takes.body === undefined ? {} : { 413: refusal }),
      ...(isChecked ? { 422: validationError } : {}),
      ...(listed as Record<string, Content>),
    };
    const responses = Object.entries(contents).map(([status, content]) => {
      const description = STATUS_CODES[status] ?? '';
      return [
        status,
        content === null ? { description } : { description, content: contentOf(content) },
      ] as const;
    });
    const requestBody = requestBodyOf(takes, contentOf);
    (paths[path] ??= {})[method.toLowerCase()] = {
      operationId: route.toLowerCase().replace(/\W+/g, '_').replace(/_$/, ''),
      ...(isOpen ? { security: own === undefined ? [] : [{ [own]: [] }] } : {}),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(requestBody === null ? {} : { requestBody }),
      responses: Object.fromEntries(responses),
    };
  }
  const schemas = referenced(paths, toJsonSchemaDefs(definitions, config));
  const security = ['key', 'bearer']
    .filter((name) => name in securitySchemes)
    .map((name) => ({ [name]: [] }));
  return { openapi: '3.1.0', info, security, paths, components: { schemas, securitySchemes } };
}

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

function parameter(
  place: 'path' | 'query' | 'header',
  name: string,
  required: boolean,
  schema: Json,
): Json {
  return { name, in: place, ...(required ? { required } : {}), schema };
}

function requestBodyOf(
  { body, isBodyOptional, file }: Takes,
  contentOf: (schema: v.GenericSchema) => Json,
): Json | null {
  if (file !== undefined) {
    const schema = { type: 'object', properties: { [file]: BINARY }, required: [file] };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  return body === undefined
    ? null
    : { required: isBodyOptional !== true, content: contentOf(body) };
}

/** The schemas that the paths refer to, and those that these refer to. */
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
