/** Defines the loaded configuration with its OpenAPI documents, which are needed only to build the public documents. */
import type { Config, Operation } from './schema.js';

/** An operation with its OpenAPI Operation Object, which is undefined if no document describes the operation. */
export interface DescribedOperation extends Operation {
  readonly openapi?: Readonly<Record<string, unknown>>;
}

/** A loaded and validated configuration with its OpenAPI documents. The running program does not keep the documents. */
export interface LoadedConfig extends Config {
  readonly operations: readonly DescribedOperation[];
  /** Parsed OpenAPI documents by service name. */
  readonly documents: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}
