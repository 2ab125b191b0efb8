import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../../src/service/openapi/document.ts';
import { record, text, toHexId } from '../../../src/protocol/detail.ts';
import { body, query } from '../../../src/service/http/route.ts';
import { AGENT_ROUTES, APP_ROUTES } from '../../../src/service/http/served-routes.ts';

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

describe.each(SERVERS)('the document of the %s', (server, table) => {
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
      Object.keys(table)
        .map((route) => route.replace(':path}', '}'))
        .sort(),
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

describe('the maker of documents', () => {
  const make = (handlers: object, answers: object) =>
    openapiDocument({
      info: {},
      handlers: handlers,
      answers: answers as Record<string, never>,
      modules: [],
      partsOf: () => ({}),
      securitySchemes: {},
    });

  it('refuses a served route that is not in the table, and one in the table that is not served', () => {
    expect(() => make({ 'GET /a': () => 1 }, {})).toThrow('GET /a');
    expect(() => make({}, { 'GET /b': {} })).toThrow('GET /b');
  });

  it('makes a request of the schemas that check it', () => {
    const handlers = {
      'GET /a/{part}': query(record({ name: text(), more: v.optional(v.array(text())) }), () => 1),
      'POST /a': body(
        record({
          id: v.optional(
            v.pipe(
              text(),
              v.check((id) => toHexId(id) !== null),
            ),
          ),
        }),
        () => 1,
        {},
      ),
    };
    const { paths } = make(handlers, {
      'GET /a/{part}': { 200: text() },
      'POST /a': { 204: null },
    }) as {
      paths: Record<string, Record<string, Json>>;
    };
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
});
