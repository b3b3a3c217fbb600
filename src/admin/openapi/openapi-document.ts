/**
 * The description of the admin API (OpenAPI 3.1), read from the controllers themselves: routes from Nest's decorators,
 * bodies and queries from the zod schemas that check them. There is no second list that could drift.
 */
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { z } from 'zod';
import { ERRORS, problemType, type ErrorCode } from '../../errors.js';
import { DOCUMENTED, type OperationDescription } from './documented.js';

type Json = Readonly<Record<string, unknown>>;

/** Keys of Nest's parameter metadata: kind, colon, position. */
const BODY_PARAMETER = /^3:/;
const QUERY_PARAMETER = /^4:/;

const EVERYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'malformed_authorization',
  'missing_credentials',
  'invalid_credentials',
  'too_many_requests',
  'too_many_failed_attempts',
  'internal_error',
  'database_unavailable',
];

/** A handler of a controller, as Nest will route it. */
interface Route {
  readonly method: string;
  /** `/admin/v1/accounts/{id}` */
  readonly path: string;
  readonly description: OperationDescription;
  readonly body: z.ZodType | undefined;
  readonly query: z.ZodObject | undefined;
}

/** The document. Throws where a handler has a route and no `@Documented`. */
export function openApiDocument(controllers: readonly Type[], version: string): Json {
  const routes = controllers.flatMap(routesOf);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method] = operation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trailgate admin API',
      version,
      description: 'Accounts, API keys, usage and the audit log. Times are RFC 3339 with the offset of the account.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      securitySchemes: {
        operatorToken: { type: 'http', scheme: 'bearer', description: 'The value of TRAILGATE_ADMIN_TOKEN.' },
      },
      schemas: {
        ...namedSchemas(
          routes.map(({ description }) => description.response),
          'output',
        ),
        ...namedSchemas(
          routes.flatMap(({ body }) => (body === undefined ? [] : [body])),
          'input',
        ),
        Problem: PROBLEM_SCHEMA,
      },
    },
  };
}

function routesOf(controller: Type): Route[] {
  const prefix = String(Reflect.getMetadata(PATH_METADATA, controller));
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = name === 'constructor' ? undefined : prototype[name];
    if (typeof handler !== 'function') return [];
    const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
    if (method === undefined) return [];
    const description = Reflect.getMetadata(DOCUMENTED, handler) as OperationDescription | undefined;
    if (description === undefined) throw new Error(`${controller.name}.${name} has a route and no @Documented`);
    const parts = [prefix, String(Reflect.getMetadata(PATH_METADATA, handler))];
    const path = `/${parts
      .map((part) => part.replace(/^\/|\/$/g, ''))
      .filter(Boolean)
      .join('/')}`;
    return [
      {
        method: (RequestMethod[method] ?? '').toLowerCase(),
        path: path.replace(/:(\w+)/g, '{$1}'),
        description,
        body: parameterSchema(controller, name, BODY_PARAMETER),
        query: parameterSchema(controller, name, QUERY_PARAMETER) as z.ZodObject | undefined,
      },
    ];
  });
}

function parameterSchema(controller: Type, handler: string, kind: RegExp): z.ZodType | undefined {
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ?? {};
  const found = Object.entries(parameters as Record<string, { schema?: z.ZodType }>).find(([key]) => kind.test(key));
  return found?.[1].schema;
}

function operation({ path, description, body, query }: Route): Json {
  const { id, summary, response, csv = false, status = 200, problems = [] } = description;
  const codes: ErrorCode[] = [...EVERYWHERE, ...problems];
  if (body !== undefined) codes.push('content_too_large', 'unsupported_media_type', 'validation_failed');
  if (query !== undefined) codes.push('invalid_parameter');
  if (query !== undefined && 'cursor' in query.shape) codes.push('invalid_cursor');
  const parameters = [...pathParameters(path), ...queryParameters(query)];
  return {
    operationId: id,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: reference(body) } } } }),
    responses: {
      [status]: {
        description: summary,
        content: {
          'application/json': { schema: reference(response) },
          ...(csv ? { 'text/csv': { schema: { type: 'string' } } } : {}),
        },
      },
      ...problemResponses(codes),
    },
  };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: z.ZodObject | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = z.toJSONSchema(query, { io: 'output' });
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: false, schema }));
}

/** One response a status, naming the codes that it stands for. */
function problemResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus: Record<string, Json> = {};
  for (const { status } of codes.map((code) => ERRORS[code]).toSorted((a, b) => a.status - b.status)) {
    const own = [...new Set(codes)].filter((code) => ERRORS[code].status === status);
    byStatus[status] = {
      description: own.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
  return byStatus;
}

function reference(schema: z.ZodType): Json {
  return { $ref: componentUri(nameOf(schema)) };
}

function componentUri(name: string): string {
  return `#/components/schemas/${name}`;
}

function nameOf(schema: z.ZodType): string {
  const name = schema.meta()?.id;
  if (name === undefined) throw new Error('a schema of the admin API needs a name: .meta({ id })');
  return name;
}

/** The schemas and the named ones inside them, each once. */
function namedSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output'): Record<string, unknown> {
  const components: Record<string, unknown> = {};
  for (const schema of schemas) {
    const { $defs = {}, ...own } = z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema }) => keepOpen(jsonSchema, io),
    });
    for (const [name, each] of Object.entries({ [nameOf(schema)]: own, ...$defs })) {
      const { $schema: _schema, id: _id, ...content } = each as Record<string, unknown>;
      components[name] = JSON.parse(JSON.stringify(content).replaceAll('"#/$defs/', `"${componentUri('')}`));
    }
  }
  return components;
}

/** An answer may gain fields without a new version; a client that was generated from this must not refuse them. */
function keepOpen(jsonSchema: { additionalProperties?: unknown }, io: 'input' | 'output'): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

const PROBLEM_SCHEMA: Json = {
  type: 'object',
  description: 'RFC 9457.',
  required: ['type', 'title', 'status', 'code', 'request_id'],
  properties: {
    type: { type: 'string', format: 'uri', examples: [problemType('validation_failed')] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable; what a program should look at.' },
    request_id: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          detail: { type: 'string' },
          pointer: { type: 'string', description: 'JSON Pointer into the body: `#/scopes/0`.' },
          parameter: { type: 'string', description: 'Name of a parameter of the query.' },
        },
      },
    },
  },
};
