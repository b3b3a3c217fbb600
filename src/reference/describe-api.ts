/**
 * Builds the public OpenAPI document of a configuration. For a large API this takes too long for a request, so it runs
 * when the configuration is loaded. Its inputs are then no longer needed.
 */
import { createHash } from 'node:crypto';
import type { ApiDescription, SerialisedDocument } from '../config/api-description.js';
import { apisOf, originOf } from '../config/model/apis.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { buildPublicOpenApi } from './public-openapi.js';

const ETAG_LENGTH = 27;

/** Builds the document of each API. If one has a deprecation date, builds also the one for after that date. */
export function describeApis(config: LoadedConfig): readonly ApiDescription[] {
  return apisOf(config.file).map((api) => {
    const publicUrl = originOf(config.file, api.name, config.publicUrl);
    const document = (isDeprecated: boolean): SerialisedDocument =>
      serialised(publicUrl, JSON.stringify(buildPublicOpenApi(config, { api, publicUrl, isDeprecated })));
    return { document: document(false), ...(api.deprecation === null ? {} : { deprecated: document(true) }) };
  });
}

/** Replaces the origin of a document. With port 0 the origin is known only once the server listens. */
export function withPublicUrl({ publicUrl, body }: SerialisedDocument, known: string): SerialisedDocument {
  return serialised(known, body.toString('utf8').replaceAll(publicUrl, known));
}

function serialised(publicUrl: string, text: string): SerialisedDocument {
  const body = Buffer.from(text, 'utf8');
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH)}"`;
  return { publicUrl, body, etag };
}
