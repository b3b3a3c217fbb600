/** Builds the `webhooks` section of the public OpenAPI document, with an operation for each event type. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, mapObjects, type JsonObject } from '../config/openapi/openapi-traversal.js';
import type { EventType } from '../config/model/schema.js';
import { EventCatalogue, type PublishedEventType } from '../outbox/event-catalogue.js';
import { adoptComponents, type Components } from './service-components.js';

/** Prefix of references to definitions inside the same schema. */
const DEFINITIONS = '#/$defs/';

/** Tag of all webhook operations. */
export const WEBHOOKS_TAG = { name: 'Webhooks', description: 'What is sent to the endpoints of your account.' };

/** Request headers of a webhook, with their descriptions. */
const HEADERS: Readonly<Record<string, string>> = {
  'webhook-id': 'The event: the same in every attempt.',
  'webhook-timestamp': 'Seconds since 1970, of this attempt.',
  'webhook-signature': 'Signatures, parted by spaces: `v1,…` of a secret, `v1a,…` of a key pair.',
};

/** Builds the `webhooks` section (OpenAPI 3.1) and adds its schemas to `components`. */
export function describedWebhooks(eventTypes: readonly EventType[], components: Components): JsonObject {
  const types = new EventCatalogue(() => eventTypes).listTypes();
  components['parameters'] = {
    ...components['parameters'],
    ...Object.fromEntries(Object.entries(HEADERS).map(([name, about]) => [pascal(name), parameter(name, about)])),
  };
  return Object.fromEntries(types.map((type) => [type.type, { post: operation(type, components) }]));
}

function parameter(name: string, description: string): JsonObject {
  return { name, in: 'header', required: true, description, schema: { type: 'string', maxLength: 1_000 } };
}

function operation(type: PublishedEventType, components: Components): JsonObject {
  const name = addSchema(type, components);
  const { description, example } = type;
  const envelope = { id: 'evt_1d2m3kx9v7c4e5f6g7h8j9k0m', type: type.type, timestamp: '2026-11-22T17:04:05.123Z' };
  return {
    operationId: `on${name.replace(/Event_*$/, '')}`,
    tags: [WEBHOOKS_TAG.name],
    summary: type.type,
    description: description ?? `An event \`${type.type}\`.`,
    // Webhooks carry a signature instead of an API key.
    security: [],
    parameters: Object.keys(HEADERS).map((header) => ({ $ref: `#/components/parameters/${pascal(header)}` })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${name}` },
          ...(isObject(example)
            ? { example: { ...envelope, account_id: 'acc_1d2m3kx9v7c4e5f6g7h8j9k0m', data: example } }
            : {}),
        },
      },
    },
    responses: {
      '2XX': { description: 'The event was received.' },
      '410': { description: 'The endpoint no longer wants events, and is disabled.' },
      default: {
        description: 'The event is sent again, ten times within three days unless the endpoint has another schedule.',
      },
    },
  };
}

/**
 * Adds the schema of an event type to `components`.
 * @returns the name of the schema
 */
function addSchema({ type, description, schema }: PublishedEventType, components: Components): string {
  let name = `${pascal(type)}Event`;
  while (components['schemas']?.[name] !== undefined) name += '_';
  const data = schema === null ? { type: 'object' } : embeddedDataSchema(schema as JsonObject, type, name, components);
  components['schemas'] = {
    ...components['schemas'],
    [name]: {
      type: 'object',
      description: description ?? `An event \`${type}\`.`,
      required: ['id', 'type', 'timestamp', 'account_id', 'data'],
      properties: {
        id: { type: 'string', maxLength: 40, description: 'The event, as in `webhook-id`.' },
        type: { type: 'string', const: type },
        timestamp: { type: 'string', format: 'date-time', maxLength: 40, description: 'When it happened.' },
        account_id: { type: 'string', maxLength: 40, description: 'Your account.' },
        data,
      },
    },
  };
  return name;
}

/** Converts a standalone schema of `data` to a part of the document. Changes local references to the new location. */
function embeddedDataSchema(schema: JsonObject, type: string, name: string, components: Components): JsonObject {
  const { $schema: _schema, $id: id, ...bundled } = schema;
  const own = withSharedSchemas(bundled, components);
  const root = `#/components/schemas/${name}/properties/data`;
  const local = mapObjects(own, (object) => {
    const { $ref: reference } = object;
    if (typeof reference !== 'string') return object;
    const within = typeof id === 'string' && reference.startsWith(id) ? reference.slice(id.length) || '#' : reference;
    return { ...object, $ref: within === '#' ? root : within };
  }) as JsonObject;
  const { $defs: _definitions, ...data } = adoptComponents(local, local, type.replaceAll(/[._]/g, '-'), components);
  return data;
}

/**
 * Replaces the definitions in a schema with references to equal schemas of the API. Generated clients get one type for
 * a customer, not one per event. Returns the schema unchanged unless all definitions have an equal schema.
 */
function withSharedSchemas(schema: JsonObject, components: Components): JsonObject {
  const { $defs: bundled, ...data } = schema;
  if (!isObject(bundled)) return schema;
  const shared = mapObjects({ bundled, data }, (object) => {
    const { $ref: reference } = object;
    if (typeof reference !== 'string' || !reference.startsWith(DEFINITIONS)) return object;
    return { ...object, $ref: `#/components/schemas/${reference.slice(DEFINITIONS.length)}` };
  }) as { readonly bundled: JsonObject; readonly data: JsonObject };
  const isShared = ([name, own]: [string, unknown]) => isDeepStrictEqual(components['schemas']?.[name], own);
  return Object.entries(shared.bundled).every(isShared) ? shared.data : schema;
}

function pascal(text: string): string {
  return text.replaceAll(/(?:^|[._-])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
