/** Types of a loaded configuration with the OpenAPI documents, which are needed only to build the public document. */
import type { Config, Operation } from './schema.js';

/** An operation with its OpenAPI Operation Object. Undefined if no document describes the operation. */
export interface DescribedOperation extends Operation {
  readonly openapi?: Readonly<Record<string, unknown>>;
}

/** A loaded and validated configuration with its documents. The running program does not keep the documents. */
export interface LoadedConfig extends Config {
  readonly operations: readonly DescribedOperation[];
  /** Parsed OpenAPI documents by service name. */
  readonly documents: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}
