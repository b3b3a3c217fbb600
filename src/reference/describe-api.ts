/**
 * Makes the public description of a configuration, once: that of a large API takes longer than any request may wait, so
 * it is made where the configuration is read. What it is made from is not needed any more then.
 */
import { createHash } from 'node:crypto';
import type { ApiDescription, SerialisedDocument } from '../config/api-description.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { buildPublicOpenApi } from './public-openapi.js';

const ETAG_LENGTH = 27;

/** The OpenAPI document of the API, and where its version has a deprecation date the one that holds from then on. */
export function describeApi(config: LoadedConfig): ApiDescription {
  const document = (isDeprecated: boolean): SerialisedDocument =>
    serialised(config.publicUrl, JSON.stringify(buildPublicOpenApi(config, { isDeprecated })));
  return {
    document: document(false),
    ...(config.file.api.deprecation === null ? {} : { deprecated: document(true) }),
  };
}

/** The document with another origin: where the port was any free one, it is known only once the server listens. */
export function withPublicUrl({ publicUrl, body }: SerialisedDocument, known: string): SerialisedDocument {
  return serialised(known, body.toString('utf8').replaceAll(publicUrl, known));
}

function serialised(publicUrl: string, text: string): SerialisedDocument {
  const body = Buffer.from(text, 'utf8');
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, ETAG_LENGTH)}"`;
  return { publicUrl, body, etag };
}
