/**
 * Builds the components that all public operations share: the problem schema, headers, error responses and schemas of
 * `/usage`.
 */
import { mapObjects, type JsonObject } from '../config/openapi/openapi-traversal.js';
import type { ErrorPages } from '../platform/problems/error-pages.js';
import { ERRORS, type ErrorCode } from '../platform/problems/errors.js';
import { PROBLEM_SCHEMAS } from '../platform/problems/problem-schema.js';
import type { Components } from './service-components.js';
import { HEADERS, IDEMPOTENCY_KEY, KEYED_HEADERS, KEYED_REFUSALS, LIMIT_HEADERS, REFUSALS } from './shared-refusals.js';
import { USAGE_SCHEMAS } from './usage-schema.js';

/** Prefix of references to shared components. The documents of services never use this prefix. */
const SHARED = '#/x-trailgate-shared/';
const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * Returns a reference to a shared component. Until `withSharedReferences` runs, its prefix distinguishes the reference
 * from those to a service's component of the same name.
 */
export function sharedReference(
  type: 'headers' | 'parameters' | 'responses' | 'schemas',
  name: string,
): { $ref: string } {
  return { $ref: `${SHARED}${type}/${name}` };
}

/** Replaces the prefix of all references to shared components with `#/components/`. */
export function withSharedReferences<Document extends JsonObject>(document: Document): Document {
  return mapObjects(document, (object) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith(SHARED)) return object;
    return { ...object, $ref: `#/components/${reference.slice(SHARED.length)}` };
  }) as Document;
}

/**
 * Returns references to the response headers of a status. An error status has the headers of its error response, and
 * any other status the limit headers.
 */
export function headerReferences(status: string, refusals = REFUSALS): Record<string, unknown> {
  const names = ['X-Request-Id', ...(refusals[status]?.headers ?? LIMIT_HEADERS)];
  return referencesTo(names);
}

/** Returns references to the response headers for requests with an `Idempotency-Key`. */
export function keyedHeaderReferences(): Record<string, unknown> {
  return referencesTo(Object.keys(KEYED_HEADERS));
}

function referencesTo(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, sharedReference('headers', name)]));
}

/**
 * Returns the content of an error response.
 * @param media documented content of the service, for its examples
 */
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
 * Returns a new copy of the shared components, to which the caller adds components of services.
 * @param pages URLs of the error pages, for the examples
 * @param keyed statuses of the idempotency errors that operations refer to. Undefined if no operation accepts keys.
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
