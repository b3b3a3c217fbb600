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
    const publicUrl = options.publicUrl ?? (() => config.publicUrl);
    const documents = new ReferenceDocuments(config, publicUrl, options.clock ?? systemClock);
    return {
      module: ReferenceModule,
      controllers: [ReferenceController, createOpenApiController(config.file.api.basePath)],
      providers: [{ provide: ReferenceDocuments, useValue: documents }],
    };
  }
}
