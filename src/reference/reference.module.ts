/** The plane of the reference, to be imported by the public application. */
import type { DynamicModule } from '@nestjs/common';
import { type Clock, systemClock } from '../clock.js';
import type { Config } from '../config/schema.js';
import { ReferenceDocuments } from './reference-documents.js';
import { ReferenceController, createOpenApiController } from './reference.controller.js';

/** What may differ from the configuration. */
export interface ReferenceOptions {
  /** The origin that integrators use; asked when it is needed, so that it may depend on the port that was bound. */
  readonly publicUrl?: () => string;
  readonly clock?: Clock;
}

export class ReferenceModule {
  static forRoot(config: Config, options: ReferenceOptions = {}): DynamicModule {
    return ReferenceModule.of(referenceDocuments(config, options), config.file.api.basePath);
  }

  /** @param documents what is shown; whoever holds them may give them another configuration later. */
  static of(documents: ReferenceDocuments, basePath: string): DynamicModule {
    return {
      module: ReferenceModule,
      controllers: [ReferenceController, createOpenApiController(basePath)],
      providers: [{ provide: ReferenceDocuments, useValue: documents }],
    };
  }
}

/** The documents of a configuration. */
export function referenceDocuments(config: Config, options: ReferenceOptions = {}): ReferenceDocuments {
  return new ReferenceDocuments(config, options.publicUrl ?? (() => config.publicUrl), options.clock ?? systemClock);
}
