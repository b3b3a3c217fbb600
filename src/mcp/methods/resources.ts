/** Provides the resources for assistants: the OpenAPI document of each API, and the error codes. */
import type { McpReference } from '../mcp-parts.js';

/**
 * Maximum size of a document in bytes. A larger document would fill the assistant's context, so the text of the
 * resource is then only a hint with its URL.
 */
const MAX_DESCRIPTION_BYTES = 1024 * 1024;

/** Resource is a document that assistants can read. */
export interface Resource {
  readonly uri: string;
  /** Entry of the resource in `resources/list`, as JSON. */
  readonly json: string;
  readonly mimeType: string;
  readonly text: () => string;
}

/** Returns all resources in their current versions. */
export function resourcesOf({ openApis, errors }: McpReference): readonly Resource[] {
  const documents = openApis();
  const descriptions = documents.map(({ body, url, title }, at) =>
    resource(
      {
        uri: url,
        name: at === 0 ? 'openapi' : `openapi-${at + 1}`,
        title: documents.length === 1 ? 'Description of the API' : `Description of ${title}`,
        description: 'OpenAPI 3.1: every operation with its parameters, schemas, scopes and errors.',
        mimeType: 'application/json',
        size: body.length,
      },
      () =>
        body.length <= MAX_DESCRIPTION_BYTES
          ? body.toString('utf8')
          : JSON.stringify({
              detail: `The document has ${body.length} bytes. Read it from ${url}, which needs no key.`,
            }),
    ),
  );
  return [
    ...descriptions,
    resource(
      {
        uri: `${documents[0]?.publicUrl}/docs/errors`,
        name: 'errors',
        title: 'Error codes',
        description: 'Every code that a refusal can have: its status, what it means, and what to do.',
        mimeType: 'application/json',
      },
      errors,
    ),
  ];
}

interface Description {
  readonly uri: string;
  readonly mimeType: string;
  readonly [member: string]: unknown;
}

function resource(description: Description, text: () => string): Resource {
  const { uri, mimeType } = description;
  return { uri, mimeType, json: JSON.stringify(description), text };
}
