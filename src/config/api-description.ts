/** The public OpenAPI document of an API, serialized when the configuration is loaded. */

/** A serialized OpenAPI document. */
export interface SerialisedDocument {
  /** Origin in the document. Final only once the server listens. */
  readonly publicUrl: string;
  readonly body: Buffer;
  /** Strong validator (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

/** A document with its place. */
export interface ApiDocument extends SerialisedDocument {
  /** Title of the API. */
  readonly title: string;
  /** `https://api.example.com/api/v1/openapi.json` */
  readonly url: string;
}

/** The public documents of an API. */
export interface ApiDescription {
  readonly document: SerialisedDocument;
  /** The document for after the deprecation date of the version, if it has one. */
  readonly deprecated?: SerialisedDocument;
}
