/** The description of the admin API, for generators and people. */
import { Controller, Get, Inject } from '@nestjs/common';
import { z } from 'zod';
import { Documented } from './documented.js';

/** Injection token of a function that builds the document on the first request for it. */
export const OPENAPI_DOCUMENT = Symbol('OpenApiDocument');

const documentSchema = z.looseObject({ openapi: z.string().max(10) }).meta({ id: 'OpenApiDocument' });

@Controller('admin/v1/openapi.json')
export class OpenApiController {
  private document: object | undefined;

  constructor(@Inject(OPENAPI_DOCUMENT) private readonly describe: () => object) {}

  @Get()
  @Documented({ id: 'getOpenApiDocument', summary: 'Read this description', response: documentSchema })
  read(): object {
    return (this.document ??= this.describe());
  }
}
