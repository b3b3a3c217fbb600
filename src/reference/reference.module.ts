/** Nest module of the API reference. The public application imports the module. */
import type { DynamicModule } from '@nestjs/common';
import { type Clock, systemClock } from '../platform/clock.js';
import type { ApiDescription } from '../config/api-description.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import type { Config } from '../config/model/schema.js';
import { apisOf } from '../config/model/apis.js';
import { describeApis } from './describe-api.js';
import { ReferenceDocuments } from './reference-documents.js';
import { ReferenceController, createOpenApiController } from './reference.controller.js';
import { API_LOCATOR, type ApiLocator } from './api-locator.js';

/** ReferenceOptions overrides the origin of the configuration and the system clock. */
export interface ReferenceOptions {
  /** Returns the public origin. With port 0, the origin is known only once the server listens. */
  readonly publicUrl?: () => string;
  readonly clock?: Clock;
}

export class ReferenceModule {
  /**
   * Returns the module for a fixed configuration, without host routing. Every host gets the pages of all APIs, and
   * every base path the document of the first API.
   */
  static forRoot(config: LoadedConfig, options: ReferenceOptions = {}): DynamicModule {
    const documents = referenceDocuments(config, describeApis(config), options);
    const basePaths = apisOf(config.file).map(({ basePath }) => basePath);
    return ReferenceModule.of(documents, {
      basePaths,
      findApiIndex: () => 0,
      findApiIndexes: () => [...basePaths.keys()],
    });
  }

  /**
   * Returns the module for documents that the caller manages.
   * @param documents the documents to serve. `ReferenceDocuments.use` can replace their configuration later.
   */
  static of(documents: ReferenceDocuments, apiLocator: ApiLocator): DynamicModule {
    return {
      module: ReferenceModule,
      controllers: [ReferenceController, createOpenApiController(apiLocator.basePaths)],
      providers: [
        { provide: ReferenceDocuments, useValue: documents },
        { provide: API_LOCATOR, useValue: apiLocator },
      ],
    };
  }
}

/**
 * Creates the documents of a configuration.
 * @param description result of `describeApis`
 */
export function referenceDocuments(
  config: Config,
  description: readonly ApiDescription[],
  options: ReferenceOptions = {},
): ReferenceDocuments {
  const { publicUrl = () => config.publicUrl, clock = systemClock } = options;
  return new ReferenceDocuments(config, description, publicUrl, clock);
}
