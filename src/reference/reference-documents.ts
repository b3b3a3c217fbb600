/** What the reference hands out. The large part has been made with the configuration: no request waits for it. */
import type { Clock } from '../platform/clock.js';
import type { ApiDescription, SerialisedDocument } from '../config/api-description.js';
import type { Config } from '../config/model/schema.js';
import { apiGuide, versioningPolicy } from './api-guide.js';
import { webhookGuide } from './webhooks/webhook-guide.js';
import { withPublicUrl } from './describe-api.js';

export class ReferenceDocuments {
  /** A document with the URL that was found out later, by the one that was made. */
  private readonly moved = new WeakMap<SerialisedDocument, SerialisedDocument>();

  /** @param publicUrl Asked at each request: with port 0 it is known only once the server listens. */
  constructor(
    private config: Config,
    private description: ApiDescription,
    readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {}

  /** Shows this configuration from now on. */
  use(config: Config, description: ApiDescription): void {
    this.config = config;
    this.description = description;
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
    const { document, deprecated = document } = this.description;
    const isDeprecated = deprecation !== null && Date.parse(deprecation) <= this.clock.now();
    const made = isDeprecated ? deprecated : document;
    const publicUrl = this.publicUrl();
    if (made.publicUrl === publicUrl) return made;
    const moved = this.moved.get(made);
    if (moved?.publicUrl === publicUrl) return moved;
    const renamed = withPublicUrl(made, publicUrl);
    this.moved.set(made, renamed);
    return renamed;
  }

  guide(): string {
    return apiGuide(this.config, this.publicUrl());
  }

  webhooks(): string {
    return webhookGuide(this.publicUrl());
  }

  versioning(): string {
    return versioningPolicy(this.config);
  }
}
