/**
 * A configuration as it is read, with the documents that the public description is
 * made from; what runs does without them.
 */
import type { Config, Operation } from './schema.js';

/** An operation with the OpenAPI operation object it came from, for the public description. */
export interface DescribedOperation extends Operation {
  readonly openapi?: Readonly<Record<string, unknown>>;
}

/**
 * What was read and checked together: file, OpenAPI documents and environment. Only the
 * public description needs the documents.
 */
export interface LoadedConfig extends Config {
  readonly operations: readonly DescribedOperation[];
  /** Parsed OpenAPI document by service name, where there is one. */
  readonly documents: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}
