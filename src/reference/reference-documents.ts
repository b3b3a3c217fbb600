/** Documents of the reference. The large ones were built with the configuration, so no request waits for them. */
import type { Clock } from '../platform/clock.js';
import type { ApiDescription, SerialisedDocument } from '../config/api-description.js';
import type { Config } from '../config/model/schema.js';
import { apiGuide, versioningPolicy } from './api-guide.js';
import { webhookGuide } from './webhooks/webhook-guide.js';
import { withPublicUrl } from './describe-api.js';

export class ReferenceDocuments {
  /** Documents with the actual URL, by original document. */
  private readonly moved = new WeakMap<SerialisedDocument, SerialisedDocument>();

  /** @param publicUrl called per request, because with port 0 the URL is known only once the server listens */
  constructor(
    private config: Config,
    private description: ApiDescription,
    readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {}

  /** Applies a new configuration. */
  use(config: Config, description: ApiDescription): void {
    this.config = config;
    this.description = description;
  }

  get title(): string {
    return this.config.file.api.title;
  }

  /** Path of the OpenAPI document. */
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
