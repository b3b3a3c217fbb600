/**
 * Builds the OpenAPI 3.1 document of the admin API. Routes and problems come from the table of operations. Schemas of
 * bodies, queries and responses come from the handlers. This file adds path parameters, headers and common problems.
 */
import type { Type } from '@nestjs/common';
import { METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { z } from 'zod';
import type { ErrorCode } from '../../platform/problems/errors.js';
import { PROBLEM_SCHEMAS } from '../../platform/problems/problem-schema.js';
import { IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, LONGEST } from './field-patterns.js';
import { API_PREFIX, OPERATIONS, type OperationId } from './operations.js';
import { idPattern } from './fields.js';
import { DOCUMENTED, type OperationDescription } from './operation-decorator.js';
import { headerReferences, HEADERS, problemResponses, SHARED_RESPONSES } from './openapi-responses.js';
import { SECURITY_SCHEMES, securityOf } from './openapi-security.js';
import { namedSchemas, queryParameters, schemaReference, type Json } from './openapi-schemas.js';

/**
 * Match the keys of Nest's parameter metadata. A key consists of the kind of parameter (3 for the body, 4 for the
 * query), a colon and the position.
 */
const BODY_PARAMETER = /^3:/;
const QUERY_PARAMETER = /^4:/;

/** ID prefix of each collection in a path. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  accounts: 'acc',
  'api-keys': 'key',
  tokens: 'tok',
  passkeys: 'psk',
  identities: 'idn',
  members: 'mem',
  invitations: 'inv',
  sessions: 'ses',
  events: 'evt',
  'webhook-endpoints': 'whe',
  'webhook-deliveries': 'whd',
};

/** Value of `maxLength` for CSV responses, in characters. Approximately the maximum string length of V8. */
const LONGEST_CSV = 512 * 1024 * 1024;

const IDEMPOTENCY_PROBLEMS = ['idempotency_in_progress', 'idempotency_mismatch', 'idempotency_secret_shown'] as const;

/** Problems that every operation can respond with. */
const COMMON_PROBLEMS: readonly ErrorCode[] = [
  'bad_request',
  'malformed_authorization',
  'missing_credentials',
  'invalid_credentials',
  'too_many_requests',
  'too_many_failed_attempts',
  'internal_error',
  'database_unavailable',
];

/** Route is an operation with the request schemas of its handler. */
interface Route {
  readonly description: OperationDescription;
  readonly body: z.ZodType | undefined;
  readonly query: z.ZodObject | undefined;
}

/**
 * Builds the document. Throws if a handler has no operation, or an operation does not have exactly one handler. Also
 * throws if the schema of a body or response has no name.
 */
export function openApiDocument(controllers: readonly Type[], version: string): Json {
  const routes = routesOf(controllers);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const { method, path } = route.description;
    (paths[API_PREFIX + path] ??= {})[method] = operation(route);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Trailgate admin API',
      version,
      description: 'Accounts, API keys, usage and the audit log. Times are RFC 3339 with the offset of the account.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ description }) => description.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: {
        ...namedSchemas(
          routes.flatMap(({ description: { response } }) => (response === null ? [] : [response])),
          'output',
        ),
        ...namedSchemas(
          routes.flatMap(({ body }) => (body === undefined ? [] : [body])),
          'input',
        ),
        ...PROBLEM_SCHEMAS,
      },
      headers: HEADERS,
      responses: { ...SHARED_RESPONSES },
    },
  };
}

/**
 * Returns the operations with their handlers' schemas, in the order of the table. Throws unless each operation has
 * exactly one handler.
 */
function routesOf(controllers: readonly Type[]): Route[] {
  const handlers = controllers.flatMap(handlersOf);
  const ids = Object.keys(OPERATIONS) as OperationId[];
  return ids.map((id) => {
    const own = handlers.filter(({ description }) => description.id === id);
    const [route] = own;
    if (route === undefined || own.length > 1) throw new Error(`${id} has ${own.length} handlers`);
    return route;
  });
}

function handlersOf(controller: Type): Route[] {
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = name === 'constructor' ? undefined : prototype[name];
    if (typeof handler !== 'function' || !Reflect.hasMetadata(METHOD_METADATA, handler)) return [];
    const description = Reflect.getMetadata(DOCUMENTED, handler) as OperationDescription | undefined;
    if (description === undefined) throw new Error(`${controller.name}.${name} has a route and no @Operation`);
    const body = parameterSchema(controller, name, BODY_PARAMETER);
    const query = parameterSchema(controller, name, QUERY_PARAMETER) as z.ZodObject | undefined;
    return [{ description, body, query }];
  });
}

function parameterSchema(controller: Type, handler: string, kind: RegExp): z.ZodType | undefined {
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ?? {};
  const found = Object.entries(parameters as Record<string, { schema?: z.ZodType }>).find(([key]) => kind.test(key));
  return found?.[1].schema;
}

function operation({ description, body, query }: Route): Json {
  const { id, tag, method, path, permission, summary, response, status, version, problems = [] } = description;
  const { csv = false, location: hasLocation = false } = description;
  // `IdempotencyInterceptor` checks only the status. All operations with status 201 are `post`.
  const acceptsKey = method === 'post' && status === 201;
  const codes: ErrorCode[] = [...COMMON_PROBLEMS, ...problems];
  if (path.includes('{')) codes.push('resource_not_found');
  if (body !== undefined) codes.push('content_too_large', 'unsupported_media_type', 'validation_failed');
  if (version === 'changed') codes.push('precondition_failed');
  if (permission.confirm !== 'never') codes.push('confirmation_required');
  if (acceptsKey) codes.push(...IDEMPOTENCY_PROBLEMS);
  if (query !== undefined) codes.push('invalid_parameter');
  if (query !== undefined && 'cursor' in query.shape) codes.push('invalid_cursor');
  const isList = query !== undefined && 'cursor' in query.shape;
  const hasVersion = response !== null && (version !== undefined || hasLocation);
  const parameters = [...pathParameters(path), ...queryParameters(query), ...fieldParameters(version, acceptsKey)];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...securityOf(permission),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaReference(body) } } } }),
    responses: {
      [status]: {
        description: summary,
        headers: headerReferences([
          ...(isList ? ['Link' as const] : []),
          ...(hasLocation ? ['Location' as const] : []),
          ...(hasVersion ? ['ETag' as const] : []),
          ...(acceptsKey ? ['Idempotent-Replayed' as const] : []),
        ]),
        ...(response === null
          ? {}
          : {
              content: {
                'application/json': { schema: schemaReference(response) },
                ...(csv ? { 'text/csv': { schema: { type: 'string', maxLength: LONGEST_CSV } } } : {}),
              },
            }),
      },
      ...(version === 'shown'
        ? {
            '304': {
              description: 'The representation still has an `ETag` of `If-None-Match`.',
              headers: headerReferences(['ETag']),
            },
          }
        : {}),
      ...problemResponses(codes),
    },
  };
}

/** Returns the header parameters of an operation: entity tags and the idempotency key. */
function fieldParameters(version: OperationDescription['version'], acceptsKey: boolean): Json[] {
  const field = (name: string, maxLength: number, pattern: string, description: string): Json => {
    return { name, in: 'header', required: false, description, schema: { type: 'string', maxLength, pattern } };
  };
  const ifNoneMatch = field(
    'If-None-Match',
    LONGEST.tags,
    IF_NONE_MATCH,
    'A known `ETag`. Responds with 304 if it is still current.',
  );
  const ifMatch = field(
    'If-Match',
    LONGEST.tags,
    IF_MATCH,
    'The `ETag` that the change is based on, or `*`. Responds with 412 if the resource has changed ' + 'since.',
  );
  const key = field(
    'Idempotency-Key',
    LONGEST.idempotencyKey,
    IDEMPOTENCY_KEY,
    'A UUID for this request. Repeating the request with the same key within a day does not create ' +
      'anything twice.',
  );
  const conditions = { shown: [ifNoneMatch], changed: [ifMatch] };
  return [...(version === undefined ? [] : conditions[version]), ...(acceptsKey ? [key] : [])];
}

/** Schema of the name of an identity provider, with the same pattern as in the configuration. */
const PROVIDER_NAME = { type: 'string', maxLength: 40, pattern: '^[a-z][a-z0-9-]{0,39}$' };
/** Schema of the ID of an authorization request. */
const REQUEST_ID = { type: 'string', maxLength: 43, pattern: '^[A-Za-z0-9_-]{21,43}$' };
/** Schemas of path parameters without an ID prefix, by collection. */
const UNPREFIXED: Readonly<Record<string, Json>> = {
  providers: PROVIDER_NAME,
  'authorization-requests': REQUEST_ID,
};

function idSchema(collection: string): Json {
  return { type: 'string', maxLength: 30, pattern: idPattern(ID_PREFIXES[collection] ?? '[a-z]+').source };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)].map(([, collection = '', name]) => ({
    name,
    in: 'path',
    required: true,
    schema: UNPREFIXED[collection] ?? idSchema(collection),
  }));
}
