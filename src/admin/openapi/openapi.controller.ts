/** Serves the OpenAPI document of the admin API to every authenticated caller. */
import { Controller, Inject } from '@nestjs/common';
import { z } from 'zod';
import { Operation } from './operation-decorator.js';

/**
 * Nest injection token of the function that builds the document. The controller calls the function on the first
 * request.
 */
export const OPENAPI_DOCUMENT = Symbol('OpenApiDocument');

const documentSchema = z.looseObject({ openapi: z.string().max(10) }).meta({ id: 'OpenApiDocument' });

type Document = z.output<typeof documentSchema>;

@Controller()
export class OpenApiController {
  private document: Document | undefined;

  constructor(@Inject(OPENAPI_DOCUMENT) private readonly buildDocument: () => Document) {}

  @Operation('getOpenApiDocument', documentSchema)
  read(): Document {
    return (this.document ??= this.buildDocument());
  }
}
