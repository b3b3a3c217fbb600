/** Nest module of the reference, imported by the public application. */
import type { DynamicModule } from '@nestjs/common';
import { type Clock, systemClock } from '../platform/clock.js';
import type { ApiDescription } from '../config/api-description.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import type { Config } from '../config/model/schema.js';
import { apisOf } from '../config/model/apis.js';
import { describeApis } from './describe-api.js';
import { ReferenceDocuments } from './reference-documents.js';
import { ReferenceController, createOpenApiController } from './reference.controller.js';
import { REFERENCE_PLACES, type ReferencePlaces } from './reference-places.js';

/** Options that override the configuration. */
export interface ReferenceOptions {
  /** Returns the public origin. Called when needed, because it may depend on the bound port. */
  readonly publicUrl?: () => string;
  readonly clock?: Clock;
}

export class ReferenceModule {
  static forRoot(config: LoadedConfig, options: ReferenceOptions = {}): DynamicModule {
    const documents = referenceDocuments(config, describeApis(config), options);
    const basePaths = apisOf(config.file).map(({ basePath }) => basePath);
    return ReferenceModule.of(documents, { basePaths, positionOf: () => 0, positionsAt: () => [...basePaths.keys()] });
  }

  /** @param documents documents to serve; their configuration can be replaced later */
  static of(documents: ReferenceDocuments, places: ReferencePlaces): DynamicModule {
    return {
      module: ReferenceModule,
      controllers: [ReferenceController, createOpenApiController(places.basePaths)],
      providers: [
        { provide: ReferenceDocuments, useValue: documents },
        { provide: REFERENCE_PLACES, useValue: places },
      ],
    };
  }
}

/** Creates the documents of a configuration. */
export function referenceDocuments(
  config: Config,
  description: readonly ApiDescription[],
  options: ReferenceOptions = {},
): ReferenceDocuments {
  const { publicUrl = () => config.publicUrl, clock = systemClock } = options;
  return new ReferenceDocuments(config, description, publicUrl, clock);
}
