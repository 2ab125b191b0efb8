import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../../src/service/openapi/document.ts';
import { record, text, toHexId } from '../../../src/protocol/detail.ts';
import { AGENT_ROUTES } from '../../../src/service/agent-server/app.ts';
import { APP_ROUTES } from '../../../src/service/app/app.ts';
import { route, type Route } from '../../../src/service/http/route.ts';

type Json = Record<string, unknown>;

/** What the documents use of OpenAPI 3.1 and of JSON Schema, and nothing else. */
const any = v.record(v.string(), v.unknown());
const schema: v.GenericSchema = v.lazy(() =>
  v.union([
    v.strictObject({ $ref: v.pipe(v.string(), v.regex(/^#\/components\/schemas\/\w+$/)) }),
    v.strictObject({
      type: v.optional(
        v.picklist(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']),
      ),
      properties: v.optional(v.record(v.string(), schema)),
      required: v.optional(v.array(v.string())),
      additionalProperties: v.optional(v.union([v.literal(false), schema])),
      items: v.optional(schema),
      anyOf: v.optional(v.array(schema)),
      enum: v.optional(v.array(v.string())),
      const: v.optional(v.string()),
      default: v.optional(v.unknown()),
      format: v.optional(v.picklist(['binary', 'date-time'])),
      pattern: v.optional(v.string()),
      minimum: v.optional(v.number()),
      maximum: v.optional(v.number()),
      minLength: v.optional(v.number()),
      maxLength: v.optional(v.number()),
      minItems: v.optional(v.number()),
    }),
  ]),
);
const content = v.pipe(
  v.record(v.string(), v.strictObject({ schema })),
  v.minEntries(1),
  v.maxEntries(1),
);
const security = v.array(v.record(v.string(), v.tuple([])));
const operation = v.strictObject({
  operationId: v.pipe(v.string(), v.regex(/^\w+$/)),
  security: v.optional(security),
  parameters: v.optional(
    v.array(
      v.strictObject({
        name: v.string(),
        in: v.picklist(['path', 'query', 'header']),
        required: v.optional(v.literal(true)),
        schema,
      }),
    ),
  ),
  requestBody: v.optional(v.strictObject({ required: v.boolean(), content })),
  responses: v.record(
    v.pipe(v.string(), v.regex(/^[2345]\d\d$/)),
    v.strictObject({
      description: v.pipe(v.string(), v.minLength(1)),
      content: v.optional(content),
    }),
  ),
});
const openapi = v.strictObject({
  openapi: v.literal('3.1.0'),
  info: v.looseObject({ title: v.string(), version: v.string() }),
  security,
  paths: v.record(
    v.pipe(v.string(), v.startsWith('/')),
    v.record(v.picklist(['delete', 'get', 'patch', 'post', 'put']), operation),
  ),
  components: v.strictObject({
    schemas: v.record(v.string(), schema),
    securitySchemes: v.record(v.string(), any),
  }),
});

const SERVERS = [
  ['app-server', APP_ROUTES],
  ['agent-server', AGENT_ROUTES],
] as const;

describe.each(SERVERS)('the document of the %s', (server, routes) => {
  const file = path.resolve(import.meta.dirname, '../../../dist/openapi', `${server}.json`);
  const document = JSON.parse(readFileSync(file, 'utf8')) as v.InferOutput<typeof openapi>;
  const operations = Object.entries(document.paths).flatMap(([at, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ at, method, ...each })),
  );

  it('is OpenAPI 3.1', () => {
    const { issues = [] } = v.safeParse(openapi, document);
    expect(issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)).toEqual([]);
    const schemes = operations.flatMap((each) => each.security ?? []).concat(document.security);
    expect(Object.keys(document.components.securitySchemes)).toEqual(
      expect.arrayContaining(schemes.flatMap((each) => Object.keys(each))),
    );
  });

  it('has each served route once, and no other', () => {
    const documented = operations.map(({ at, method }) => `${method.toUpperCase()} ${at}`);
    expect(documented.sort()).toEqual(
      routes.map(({ method, path: at }) => `${method} ${at.replace(':path}', '}')}`).sort(),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has a required parameter for each part of a path', () => {
    const given = operations.map(({ at, parameters = [] }) => [
      at,
      parameters.filter((each) => each.in === 'path'),
    ]);
    const wanted = operations.map(({ at }) => [
      at,
      [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: expect.anything() as Json,
      })),
    ]);
    expect(given).toEqual(wanted);
  });

  it('defines every schema that it refers to', () => {
    const named = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(Object.keys(document.components.schemas)).toEqual([...new Set(named)].sort());
  });

  it('has a status for what a route with a body, a checked query or a key refuses', () => {
    const lacking = operations.filter(
      ({ requestBody, parameters = [], security: own, responses }) => {
        const isChecked =
          requestBody !== undefined || parameters.some((each) => each.in === 'query');
        return (
          (isChecked && responses['422'] === undefined) ||
          (own === undefined && responses['401'] === undefined)
        );
      },
    );
    expect(lacking).toEqual([]);
  });
});

it('the document of a server has the schemas that check its requests', () => {
  const declared = { callers: '', handle: () => 1 };
  const id = v.pipe(
    text,
    v.check((each) => toHexId(each) !== null),
  );
  const routes: Route<null>[] = [
    route('GET /a/{part}', {
      ...declared,
      query: record({ name: text, more: v.optional(v.array(text)) }),
      answers: { 200: text },
    }),
    route('POST /a', {
      ...declared,
      body: record({ id: v.optional(id) }),
      emptyBody: {},
      answers: { 204: null },
    }),
  ];
  const document = openapiDocument({ info: {}, routes, modules: [], securitySchemes: {} });
  const { paths } = document as { paths: Record<string, Record<string, Json>> };
  expect(paths['/a/{part}']?.['get']).toMatchObject({
    operationId: 'get_a_part',
    parameters: [
      { name: 'part', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'name', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'more', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    ],
  });
  expect(paths['/a']?.['post']).toMatchObject({
    requestBody: {
      required: false,
      content: { 'application/json': { schema: { properties: { id: { type: 'string' } } } } },
    },
    responses: { 204: { description: 'No Content' } },
  });
});
