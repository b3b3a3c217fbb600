/** Serves the OpenAPI document of the admin API. */
import { Controller, Inject } from '@nestjs/common';
import { z } from 'zod';
import { Operation } from './operation-decorator.js';

/** Injection token of a function that builds the document on first use. */
export const OPENAPI_DOCUMENT = Symbol('OpenApiDocument');

const documentSchema = z.looseObject({ openapi: z.string().max(10) }).meta({ id: 'OpenApiDocument' });

type Document = z.output<typeof documentSchema>;

@Controller()
export class OpenApiController {
  private document: Document | undefined;

  constructor(@Inject(OPENAPI_DOCUMENT) private readonly describe: () => Document) {}

  @Operation('getOpenApiDocument', documentSchema)
  read(): Document {
    return (this.document ??= this.describe());
  }
}
