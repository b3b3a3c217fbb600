/** Builds the public OpenAPI 3.1 document of an API from its published operations and the documents of the services. */
import { isIdempotencyKey } from '../config/openapi/key-retention.js';
import { resolveReference } from '../config/openapi/openapi-references.js';
import type { JsonObject } from '../config/openapi/openapi-traversal.js';
import { isObject } from '../config/openapi/openapi-traversal.js';
import { templateParameters } from '../config/openapi/path-template.js';
import { upgradeToOpenApi31 } from '../config/openapi/openapi-upgrade.js';
import { apisOf, ownId, type ApiConfig } from '../config/model/apis.js';
import type { DescribedOperation, LoadedConfig } from '../config/model/loaded-config.js';
import { ErrorPages } from '../platform/problems/error-pages.js';
import { USAGE_PARAMETER_SCHEMAS } from '../quota/usage/usage-query.js';
import { apiIntroduction } from './api-guide.js';
import type { Components } from './service-components.js';
import { adoptComponents } from './service-components.js';
import {
  headerReferences,
  keyedHeaderReferences,
  problemContent,
  sharedComponents,
  sharedReference,
  withSharedReferences,
} from './shared-components.js';
import { KEYED_REFUSALS, REFUSALS } from './shared-refusals.js';
import { USAGE_EXAMPLE } from './usage-schema.js';
import { describedWebhooks, WEBHOOKS_TAG } from './described-webhooks.js';

/** PublicOpenApiOptions selects the API to describe, and overrides values of the configuration. */
export interface PublicOpenApiOptions {
  /**
   * Public origin without a trailing slash. The default is the origin in the configuration, which is wrong if the port
   * is 0.
   */
  readonly publicUrl?: string;
  /** The API to describe. The default is the first API. */
  readonly api?: ApiConfig;
  /** Whether to mark all operations as deprecated, because the API's deprecation date has passed. */
  readonly isDeprecated?: boolean;
}

/** Builds the document. Omits servers, security schemes and unpublished parts of the services' documents. */
export function buildPublicOpenApi(config: LoadedConfig, options: PublicOpenApiOptions = {}): JsonObject {
  const publicUrl = options.publicUrl ?? config.publicUrl;
  const api = options.api ?? apisOf(config.file)[0]!;
  const published = config.operations.filter((operation) => operation.api === api.name);
  const components = sharedComponents(new ErrorPages(config.publicUrl), keyedStatuses(published));
  const paths: Record<string, Record<string, unknown>> = {};
  const tags = new Map<string, unknown>();
  for (const service of Object.keys(config.file.services)) {
    const document = documentOf(config, service);
    const operations = published.filter((operation) => operation.service === service);
    const parts = operations.map((operation) => publicOperation(operation, document, options.isDeprecated === true));
    for (const [index, part] of adoptComponents(parts, document, service, components).entries()) {
      const operation = operations[index];
      if (operation === undefined) continue;
      (paths[operation.template] ??= {})[operation.method.toLowerCase()] = part;
    }
    for (const tag of usedTags(document, parts)) tags.set(String(tag['name']), tags.get(String(tag['name'])) ?? tag);
  }
  (paths['/usage'] ??= {})['get'] = USAGE_OPERATION;
  tags.set('Usage', { name: 'Usage', description: 'Your limits, and what you used of them.' });
  tags.set(WEBHOOKS_TAG.name, WEBHOOKS_TAG);
  const webhooks = describedWebhooks(config.eventTypes ?? [], components);
  return withSharedReferences({
    openapi: '3.1.1',
    info: info(config, api),
    servers: [{ url: publicUrl + api.basePath }],
    security: [{ bearerAuth: [] }],
    tags: [...tags.values()],
    paths,
    webhooks,
    components: sortedComponents(components),
  });
}

/** Returns the document of a service, upgraded to OpenAPI 3.1. Empty if the service has no document. */
function documentOf(config: LoadedConfig, service: string): JsonObject {
  const document = config.documents.get(service) ?? {};
  return String(document['openapi']).startsWith('3.0') ? upgradeToOpenApi31(document) : document;
}

function info(config: LoadedConfig, api: ApiConfig): JsonObject {
  const services = new Set(
    config.operations.filter((operation) => operation.api === api.name).map((each) => each.service),
  );
  const isSingle = config.file.apis === undefined;
  const documents = [...config.documents].filter(([service]) => isSingle || services.has(service));
  const infos = documents.map(([, document]) => document['info']).filter(isObject);
  const [first] = infos;
  const only = infos.length === 1 ? first : undefined;
  const firstField = (key: string): JsonObject => {
    const found = infos.find((candidate) => candidate[key] !== undefined);
    return found === undefined ? {} : { [key]: found[key] };
  };
  return {
    title: api.title,
    version: only === undefined ? (api.basePath.split('/').at(-1) ?? '1') : only['version'],
    ...(typeof only?.['summary'] === 'string' ? { summary: only['summary'] } : {}),
    description: [...ownDescriptions(api, infos), apiIntroduction(config.publicUrl)].join('\n\n'),
    ...firstField('termsOfService'),
    ...(api.support === undefined ? firstField('contact') : { contact: api.support }),
    ...firstField('license'),
  };
}

/**
 * Returns the configured description of the API. Without one, returns the descriptions of its services, under their
 * titles if there are several services.
 */
function ownDescriptions(api: ApiConfig, infos: readonly JsonObject[]): string[] {
  if (api.description !== undefined) return [api.description.trim()];
  return infos.flatMap(({ title, description }) => {
    if (typeof description !== 'string' || description.trim() === '') return [];
    return [infos.length === 1 ? description.trim() : `## ${String(title)}\n${description.trim()}`];
  });
}

/** Returns the public form of an operation. Its references still point into the document of its service. */
function publicOperation(operation: DescribedOperation, document: JsonObject, isDeprecated: boolean): JsonObject {
  const described = upgradedIfNeeded(operation.openapi ?? {}, document);
  const { servers: _, security: __, ...rest } = described;
  // Remove internal settings, which `x-mcp` may contain too.
  const isInternal = (key: string): boolean => key.startsWith('x-trailgate-') || key === 'x-mcp';
  const own = Object.fromEntries(Object.entries(rest).filter(([key]) => !isInternal(key)));
  return {
    ...own,
    operationId: ownId(operation),
    summary: own['summary'] ?? `${operation.method} ${operation.template}`,
    description: description(own['description'], operation),
    ...(own['deprecated'] === true || isDeprecated || typeof operation.lifeCycle?.deprecation === 'string'
      ? { deprecated: true }
      : {}),
    ...parameters(own['parameters'], operation),
    security: [{ bearerAuth: [...operation.scopes] }],
    responses: publicResponses(isObject(own['responses']) ? own['responses'] : {}, document, operation),
  };
}

function upgradedIfNeeded(part: JsonObject, document: JsonObject): JsonObject {
  // The operation comes from the original document, not from the upgraded one.
  return String(document['openapi']).startsWith('3.0') ? upgradeToOpenApi31(part) : part;
}

function description(own: unknown, operation: DescribedOperation): string {
  const scopes = operation.scopes.map((scope) => `\`${scope}\``).join(' and ');
  const needs =
    operation.scopes.length === 0
      ? 'Any valid API key may call it.'
      : `Needs the scope${operation.scopes.length > 1 ? 's' : ''} ${scopes}.`;
  const cost = operation.cost === 1 ? '' : ` Counts as ${operation.cost} requests.`;
  return `${typeof own === 'string' ? `${own.trim()}\n\n` : ''}${needs}${cost}`;
}

/**
 * Returns the documented parameters, the undocumented path parameters, and `Idempotency-Key` if the operation accepts
 * that header.
 */
function parameters(own: unknown, { template, idempotency }: DescribedOperation): { parameters?: unknown[] } {
  const list: unknown[] = Array.isArray(own) ? own : [];
  const described = new Set(list.map((one) => (isObject(one) && one['in'] === 'path' ? one['name'] : undefined)));
  const missing = templateParameters(template)
    .filter((name) => !described.has(name))
    .map((name) => ({ name, in: 'path', required: true, description: `\`${name}\``, schema: { type: 'string' } }));
  const key = idempotency === undefined ? [] : [sharedReference('parameters', 'IdempotencyKey')];
  const others = key.length === 0 ? list : list.filter((one) => !isIdempotencyKey(one));
  const all = [...others, ...missing, ...key];
  return all.length === 0 ? {} : { parameters: all };
}

/**
 * Returns the documented responses with the gateway's headers and error format, and the gateway's own error responses.
 */
function publicResponses(own: JsonObject, document: JsonObject, { idempotency }: DescribedOperation): JsonObject {
  const keyed = idempotency === undefined ? {} : keyedHeaderReferences();
  const refusals = idempotency === undefined ? REFUSALS : { ...REFUSALS, ...KEYED_REFUSALS };
  const responses: Record<string, unknown> = {};
  const succeeds = Object.keys(own).some((status) => /^[123]/.test(status));
  for (const [status, reference] of Object.entries(own)) {
    const response = resolveReference(document, reference);
    if (!isObject(response)) continue;
    // With a success response, `default` describes errors. Without one, `default` can also describe success.
    const isError = /^[45]/.test(status) || (status === 'default' && succeeds);
    responses[status] = {
      ...response,
      ...withAddition(
        response['description'],
        idempotency === undefined ? undefined : KEYED_REFUSALS[status]?.description,
      ),
      headers: {
        ...(isObject(response['headers']) ? response['headers'] : {}),
        ...headerReferences(status, refusals),
        ...keyed,
      },
      ...(isError ? { content: problemContent(problemMedia(response)) } : {}),
    };
  }
  if (!succeeds && !('default' in own)) {
    responses['2XX'] = { description: 'Success.', headers: { ...headerReferences('2XX'), ...keyed } };
  }
  for (const [status, { name }] of Object.entries(refusals)) {
    responses[status] ??= sharedReference('responses', name);
  }
  return responses;
}

/** Returns a `description` field with `more` appended. Returns an empty object if `more` is undefined. */
function withAddition(own: unknown, more: string | undefined): { description?: string } {
  return more === undefined ? {} : { description: typeof own === 'string' ? `${own.trim()}\n\n${more}` : more };
}

/**
 * Returns the statuses of the idempotency errors that at least one operation does not document itself. Undefined if no
 * operation accepts `Idempotency-Key`.
 */
function keyedStatuses(operations: readonly DescribedOperation[]): ReadonlySet<string> | undefined {
  const keyed = operations.filter(({ idempotency }) => idempotency !== undefined);
  if (keyed.length === 0) return undefined;
  const described = keyed.map(({ openapi }) => (isObject(openapi?.['responses']) ? openapi['responses'] : {}));
  return new Set(Object.keys(KEYED_REFUSALS).filter((status) => described.some((responses) => !(status in responses))));
}

/**
 * Returns the documented problem content of a response, for its examples. Empty if there is none. Ignores other
 * formats, because clients get every error as a problem.
 */
function problemMedia(response: JsonObject): JsonObject {
  const content = response['content'];
  const media = isObject(content) ? content['application/problem+json'] : undefined;
  return isObject(media) ? media : {};
}

/** Returns the document's tags that the operations use, without the internal field `x-trailgate-names`. */
function usedTags(document: JsonObject, operations: readonly JsonObject[]): JsonObject[] {
  const used = new Set(operations.flatMap((operation) => (Array.isArray(operation['tags']) ? operation['tags'] : [])));
  const tags = Array.isArray(document['tags']) ? document['tags'].filter(isObject) : [];
  return tags.flatMap((tag) => {
    const { 'x-trailgate-names': _, ...own } = tag;
    return used.has(tag['name']) ? [own] : [];
  });
}

function sortedComponents(components: Components): JsonObject {
  return Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function usageParameter(name: keyof typeof USAGE_PARAMETER_SCHEMAS, about: string, example?: unknown): JsonObject {
  return {
    name,
    in: 'query',
    required: false,
    description: about,
    schema: USAGE_PARAMETER_SCHEMAS[name],
    ...(example === undefined ? {} : { example }),
  };
}

const USAGE_OPERATION: JsonObject = {
  operationId: 'getUsage',
  tags: ['Usage'],
  summary: 'Show your limits and usage',
  description: 'The limits of the calling API key and its account. Any valid API key may call it. It is not counted.',
  security: [{ bearerAuth: [] }],
  parameters: [
    usageParameter(
      'group_by',
      'Adds `data`: what the requests of the calling API key came to, summed up by some of `month`, `day`, ' +
        '`api_key`, `operation`, `outcome`, with commas between them. 60 such queries a minute.',
      'day,outcome',
    ),
    usageParameter(
      'from',
      'First day of `data`; the first of the billing period unless said. At most 400 days.',
      '2026-11-01',
    ),
    usageParameter('to', "Last day of `data`; today unless said, in the account's time zone.", '2026-11-20'),
    usageParameter('limit', 'Most rows of `data`, 1 to 1000; 100 unless said.', 100),
    usageParameter('cursor', '`next_cursor` of the page before.'),
  ],
  responses: {
    '200': {
      description: 'The limits, and what was used of them.',
      headers: headerReferences('200'),
      content: { 'application/json': { schema: sharedReference('schemas', 'Usage'), example: USAGE_EXAMPLE } },
    },
    ...Object.fromEntries(
      ['400', '401', '403', '405', '429', '500', '503', 'default'].map((status) => [
        status,
        sharedReference('responses', REFUSALS[status]?.name ?? ''),
      ]),
    ),
  },
};
