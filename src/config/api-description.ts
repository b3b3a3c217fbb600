/** Defines the public OpenAPI documents of an API, which are serialized when the configuration is loaded. */

/** A public OpenAPI document in serialized form. */
export interface SerializedDocument {
  /** Public origin that the document contains. With port 0, the origin is known only after the server listens. */
  readonly publicUrl: string;
  readonly body: Buffer;
  /** Entity tag of the body, a strong validator (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

/** A serialized document with the title and the URL under which it is published. */
export interface ApiDocument extends SerializedDocument {
  /** Title of the API. */
  readonly title: string;
  /** URL of the document, such as `https://api.example.com/api/v1/openapi.json`. */
  readonly url: string;
}

/** The public documents of an API, before and after its deprecation date. */
export interface ApiDescription {
  /** Document until the deprecation date of the API, or the only document if the API has no deprecation date. */
  readonly document: SerializedDocument;
  /** Document from the deprecation date of the API. Undefined if the API has no deprecation date. */
  readonly deprecated?: SerializedDocument;
}
