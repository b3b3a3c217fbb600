/** The public description of an API as it is handed out: bytes, made where the configuration is read. */

/** The public OpenAPI document as integrators download it. */
export interface SerialisedDocument {
  /** The origin that it names; known for sure once the server listens. */
  readonly publicUrl: string;
  readonly body: Buffer;
  /** A strong validator (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

/** The public description of an API, made once when its configuration is loaded. */
export interface ApiDescription {
  readonly document: SerialisedDocument;
  /** What it says from the day on which the version is deprecated; only where there is such a day. */
  readonly deprecated?: SerialisedDocument;
}
