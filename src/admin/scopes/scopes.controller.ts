/** The scopes that a key may be given, and what each opens. */
import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import { Catalogue, type GrantableScope } from '../../accounts/catalogue.js';
import { listSchema, type ListBody } from '../request/list.js';
import { Documented } from '../openapi/documented.js';

const scopeSchema = z
  .object({
    scope: z.string().max(200).meta({ example: 'customers:read' }),
    operations: z
      .array(z.string().max(200))
      .meta({ description: 'Ids of the operations that it opens or helps to open.' }),
  })
  .meta({ id: 'Scope' });

const scopeListSchema = listSchema('ScopeList', scopeSchema, false);

@Controller('admin/v1/scopes')
export class ScopesController {
  constructor(private readonly catalogue: Catalogue) {}

  @Get()
  @Documented({ id: 'listScopes', summary: 'List the scopes that a key may be given', response: scopeListSchema })
  list(): ListBody<GrantableScope> {
    return { data: this.catalogue.scopes(), has_more: false, next_cursor: null };
  }
}
