/**
 * Holds the documents of the API reference. OpenAPI documents are built when the configuration is loaded, not during
 * requests.
 */
import type { Clock } from '../platform/clock.js';
import type { ApiDescription, ApiDocument, SerializedDocument } from '../config/api-description.js';
import { apisOf, originOf, type ApiConfig } from '../config/model/apis.js';
import type { Config } from '../config/model/schema.js';
import { apiGuide, versioningPolicy } from './api-guide.js';
import { webhookGuide } from './webhooks/webhook-guide.js';
import { withPublicUrl } from './describe-api.js';

/** ReferenceDocuments returns the documents of the current configuration. */
export class ReferenceDocuments {
  /** Copies of documents with the actual origin, by original document. */
  private readonly copies = new WeakMap<SerializedDocument, SerializedDocument>();

  /**
   * @param description OpenAPI documents of each API, in the order of the configuration
   * @param publicUrl returns the actual origin. With port 0, the origin is known only once the server listens.
   */
  constructor(
    private config: Config,
    private description: readonly ApiDescription[],
    readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {}

  /** Replaces the configuration and its documents. */
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

  /** Names of all APIs. If the configuration has no `apis`, the only API has no name, and the list is `[undefined]`. */
  get names(): readonly (string | undefined)[] {
    return this.config.file.apis?.map(({ name }) => name) ?? [undefined];
  }

  /**
   * Returns the origins of APIs, each once. The interactive reference sends requests to these origins.
   * @param positions indexes of the APIs in the configuration
   */
  origins(positions: readonly number[]): readonly string[] {
    return [...new Set(this.apisAt(positions).map((api) => this.originOf(api)))];
  }

  /**
   * Returns the OpenAPI document of an API, with the actual origin. From the deprecation date of the API, its
   * operations are marked as deprecated.
   * @param position index of the API in the configuration. Throws if there is no such API.
   */
  openApi(position = 0): ApiDocument {
    const api = this.apis[position];
    const description = this.description[position];
    if (api === undefined || description === undefined) throw new Error(`there is no API ${position}`);
    const { document, deprecated = document } = description;
    const isDeprecated = api.deprecation !== null && Date.parse(api.deprecation) <= this.clock.now();
    const publicUrl = this.originOf(api);
    const current = this.withUrl(isDeprecated ? deprecated : document, publicUrl);
    return { ...current, title: api.title, url: `${publicUrl}${api.basePath}/openapi.json` };
  }

  /** Returns the guide, with an example of the first API. @param positions indexes of the APIs in the configuration */
  guide(positions: readonly number[]): string {
    const [api = this.apis[0]!] = this.apisAt(positions);
    return apiGuide(this.config, api, this.originOf(api));
  }

  webhooks(): string {
    return webhookGuide(this.publicUrl());
  }

  /** Returns the versioning policy of APIs. @param positions indexes of the APIs in the configuration */
  versioning(positions: readonly number[]): string {
    return versioningPolicy(this.config, this.apisAt(positions));
  }

  private apisAt(positions: readonly number[]): readonly ApiConfig[] {
    const { apis } = this;
    return positions.flatMap((position) => apis[position] ?? []);
  }

  private originOf({ name }: ApiConfig): string {
    return originOf(this.config.file, name, this.publicUrl());
  }

  /** Returns a document with the actual origin. Caches the copy. */
  private withUrl(original: SerializedDocument, publicUrl: string): SerializedDocument {
    if (original.publicUrl === publicUrl) return original;
    const cached = this.copies.get(original);
    if (cached?.publicUrl === publicUrl) return cached;
    const copy = withPublicUrl(original, publicUrl);
    this.copies.set(original, copy);
    return copy;
  }
}
