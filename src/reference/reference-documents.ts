/** Documents of the reference. The large ones were built with the configuration, so no request waits for them. */
import type { Clock } from '../platform/clock.js';
import type { ApiDescription, ApiDocument, SerialisedDocument } from '../config/api-description.js';
import { apisOf, originOf, type ApiConfig } from '../config/model/apis.js';
import type { Config } from '../config/model/schema.js';
import { apiGuide, versioningPolicy } from './api-guide.js';
import { webhookGuide } from './webhooks/webhook-guide.js';
import { withPublicUrl } from './describe-api.js';

export class ReferenceDocuments {
  /** Documents with the actual URL, by original document. */
  private readonly moved = new WeakMap<SerialisedDocument, SerialisedDocument>();

  /**
   * @param description documents of each API
   * @param publicUrl called per request, because with port 0 the URL is known only once the server listens
   */
  constructor(
    private config: Config,
    private description: readonly ApiDescription[],
    readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {}

  /** Applies a new configuration. */
  use(config: Config, description: readonly ApiDescription[]): void {
    this.config = config;
    this.description = description;
  }

  get title(): string {
    return this.config.file.api.title;
  }

  get apis(): readonly ApiConfig[] {
    return apisOf(this.config.file);
  }

  /** Names of all APIs, also of the first. Undefined if there is one without a name. */
  get names(): readonly (string | undefined)[] {
    return this.config.file.apis?.map(({ name }) => name) ?? [undefined];
  }

  /** Returns the origins of all APIs, which the reference page calls. */
  get origins(): readonly string[] {
    const { file } = this.config;
    return [...new Set(this.apis.map(({ name }) => originOf(file, name, this.publicUrl())))];
  }

  /** Returns the document of an API. @param position of the API in the configuration */
  openApi(position = 0): ApiDocument {
    const api = this.apis[position];
    const description = this.description[position];
    if (api === undefined || description === undefined) throw new Error(`there is no API ${position}`);
    const { document, deprecated = document } = description;
    const isDeprecated = api.deprecation !== null && Date.parse(api.deprecation) <= this.clock.now();
    const publicUrl = originOf(this.config.file, api.name, this.publicUrl());
    const made = this.withUrl(isDeprecated ? deprecated : document, publicUrl);
    return { ...made, title: api.title, url: `${publicUrl}${api.basePath}/openapi.json` };
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

  private withUrl(made: SerialisedDocument, publicUrl: string): SerialisedDocument {
    if (made.publicUrl === publicUrl) return made;
    const moved = this.moved.get(made);
    if (moved?.publicUrl === publicUrl) return moved;
    const renamed = withPublicUrl(made, publicUrl);
    this.moved.set(made, renamed);
    return renamed;
  }
}
