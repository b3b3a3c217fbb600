/**
 * Builds the public OpenAPI documents of a configuration when the configuration is loaded. Describing a large API takes
 * too long for a request. The documents of the services can be freed afterwards.
 */
import { createHash } from 'node:crypto';
import type { ApiDescription, SerializedDocument } from '../config/api-description.js';
import { apisOf, originOf } from '../config/model/apis.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { buildPublicOpenApi } from './public-openapi.js';

/** Length of the digest in an entity tag, in characters. */
const ETAG_LENGTH = 27;

/**
 * Builds the document of each API, in the order of the configuration. An API with a deprecation date gets a second
 * document, which is served from that date.
 */
export function describeApis(config: LoadedConfig): readonly ApiDescription[] {
  return apisOf(config.file).map((api) => {
    const publicUrl = originOf(config.file, api.name, config.publicUrl);
    const document = (isDeprecated: boolean): SerializedDocument =>
      serializedDocument(publicUrl, JSON.stringify(buildPublicOpenApi(config, { api, publicUrl, isDeprecated })));
    return { document: document(false), ...(api.deprecation === null ? {} : { deprecated: document(true) }) };
  });
}

/**
 * Returns a copy of a document in which `actualUrl` replaces the public origin. With port 0, the actual origin is known
 * only once the server listens.
 */
export function withPublicUrl({ publicUrl, body }: SerializedDocument, actualUrl: string): SerializedDocument {
  return serializedDocument(actualUrl, body.toString('utf8').replaceAll(publicUrl, actualUrl));
}

function serializedDocument(publicUrl: string, text: string): SerializedDocument {
  const body = Buffer.from(text, 'utf8');
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH)}"`;
  return { publicUrl, body, etag };
}
