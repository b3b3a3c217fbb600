/**
 * Components that every public operation shares: the problem, the limits' headers, the usual refusals, and `/usage`.
 */
import { mapObjects, type JsonObject } from '../config/openapi/openapi-traversal.js';
import type { ErrorPages } from '../platform/problems/error-pages.js';
import { ERRORS, type ErrorCode } from '../platform/problems/errors.js';
import { PROBLEM_SCHEMAS } from '../platform/problems/problem-schema.js';
import type { Components } from './service-components.js';
import { HEADERS, IDEMPOTENCY_KEY, KEYED_HEADERS, KEYED_REFUSALS, LIMIT_HEADERS, REFUSALS } from './shared-refusals.js';
import { USAGE_SCHEMAS } from './usage-schema.js';

/** No document of a service has such a place. */
const SHARED = '#/x-trailgate-shared/';
const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * A reference to a component of ours. Only in the whole document it is one like any other: until then a service's
 * component of the same name is another one.
 */
export function sharedReference(
  type: 'headers' | 'parameters' | 'responses' | 'schemas',
  name: string,
): { $ref: string } {
  return { $ref: `${SHARED}${type}/${name}` };
}

/** The document with references to our components as everybody writes them. */
export function withSharedReferences<Document extends JsonObject>(document: Document): Document {
  return mapObjects(document, (object) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith(SHARED)) return object;
    return { ...object, $ref: `#/components/${reference.slice(SHARED.length)}` };
  }) as Document;
}

/** References to the headers of a response with this status. */
export function headerReferences(status: string, refusals = REFUSALS): Record<string, unknown> {
  const names = ['X-Request-Id', ...(refusals[status]?.headers ?? LIMIT_HEADERS)];
  return referencesTo(names);
}

/** References to the headers that a response can have to a request with an `Idempotency-Key`. */
export function keyedHeaderReferences(): Record<string, unknown> {
  return referencesTo(Object.keys(KEYED_HEADERS));
}

function referencesTo(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, sharedReference('headers', name)]));
}

/** The content of every error, with the examples that a service's document gives. */
export function problemContent(media: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { examples, example } = media;
  return {
    [PROBLEM_MEDIA_TYPE]: {
      schema: sharedReference('schemas', 'Problem'),
      ...(examples === undefined ? {} : { examples }),
      ...(example === undefined || examples !== undefined ? {} : { example }),
    },
  };
}

/**
 * A fresh copy of the shared components, to which those of the services are added; examples name `pages`.
 * @param keyed statuses of refusals of an `Idempotency-Key` that an operation refers to; undefined: none takes one.
 */
export function sharedComponents(pages: ErrorPages, keyed: ReadonlySet<string> | undefined): Components {
  const refusals = [
    ...Object.values(REFUSALS),
    ...Object.entries(KEYED_REFUSALS).flatMap(([status, refusal]) => (keyed?.has(status) === true ? [refusal] : [])),
  ];
  const responses = refusals.map(({ name, description, code, headers }) => [
    name,
    {
      description,
      headers: referencesTo(['X-Request-Id', ...headers]),
      content: problemContent({ example: problemExample(code, pages) }),
    },
  ]);
  return {
    schemas: {
      ...PROBLEM_SCHEMAS,
      ...USAGE_SCHEMAS,
    },
    headers: structuredClone(keyed === undefined ? HEADERS : { ...HEADERS, ...KEYED_HEADERS }),
    ...(keyed === undefined ? {} : { parameters: { IdempotencyKey: IDEMPOTENCY_KEY } }),
    responses: Object.fromEntries(responses) as Record<string, unknown>,
    securitySchemes: {
      bearerAuth: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key of your account: `Authorization: Bearer tg_live_…`.',
      },
    },
  };
}

function problemExample(code: ErrorCode, pages: ErrorPages): Record<string, unknown> {
  const { title, status } = ERRORS[code];
  return { type: pages.typeOf(code), title, status, code, request_id: 'req_4fzvT1mYwq8C' };
}
