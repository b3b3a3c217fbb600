/** What the reference hands out, made once and again only when what it depends on has changed. */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { Config } from '../config/schema.js';
import { versioningPolicy } from './api-guide.js';
import { buildPublicOpenApi } from './public-openapi.js';

/** A serialised document with its strong validator (RFC 9110 section 8.8.3). */
export interface SerialisedDocument {
  readonly body: string;
  readonly etag: string;
}

export class ReferenceDocuments {
  private cached: (SerialisedDocument & { readonly key: string }) | undefined;

  /** @param publicUrl Asked at each request: with port 0 it is known only once the server listens. */
  constructor(
    private config: Config,
    readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {}

  /** Describes this configuration from now on. */
  use(config: Config): void {
    this.config = config;
    this.cached = undefined;
  }

  get title(): string {
    return this.config.file.api.title;
  }

  /** Path of the OpenAPI document on this server. */
  get openApiPath(): string {
    return `${this.config.file.api.basePath}/openapi.json`;
  }

  openApi(): SerialisedDocument {
    const { deprecation } = this.config.file.api;
    const publicUrl = this.publicUrl();
    const isDeprecated = deprecation !== null && Date.parse(deprecation) <= this.clock.now();
    const key = `${publicUrl} ${isDeprecated}`;
    if (this.cached?.key !== key) {
      const body = JSON.stringify(buildPublicOpenApi(this.config, { publicUrl, isDeprecated }));
      this.cached = { key, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"` };
    }
    return this.cached;
  }

  versioning(): string {
    return versioningPolicy(this.config);
  }
}
