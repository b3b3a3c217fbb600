/** Nest module of the reference, imported by the public application. */
import type { DynamicModule } from '@nestjs/common';
import { type Clock, systemClock } from '../platform/clock.js';
import type { ApiDescription } from '../config/api-description.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import type { Config } from '../config/model/schema.js';
import { describeApi } from './describe-api.js';
import { ReferenceDocuments } from './reference-documents.js';
import { ReferenceController, createOpenApiController } from './reference.controller.js';

/** Options that override the configuration. */
export interface ReferenceOptions {
  /** Returns the public origin. Called when needed, because it may depend on the bound port. */
  readonly publicUrl?: () => string;
  readonly clock?: Clock;
}

export class ReferenceModule {
  static forRoot(config: LoadedConfig, options: ReferenceOptions = {}): DynamicModule {
    const documents = referenceDocuments(config, describeApi(config), options);
    return ReferenceModule.of(documents, config.file.api.basePath);
  }

  /** @param documents documents to serve; their configuration can be replaced later */
  static of(documents: ReferenceDocuments, basePath: string): DynamicModule {
    return {
      module: ReferenceModule,
      controllers: [ReferenceController, createOpenApiController(basePath)],
      providers: [{ provide: ReferenceDocuments, useValue: documents }],
    };
  }
}

/** Creates the documents of a configuration. */
export function referenceDocuments(
  config: Config,
  description: ApiDescription,
  options: ReferenceOptions = {},
): ReferenceDocuments {
  const { publicUrl = () => config.publicUrl, clock = systemClock } = options;
  return new ReferenceDocuments(config, description, publicUrl, clock);
}
