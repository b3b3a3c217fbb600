/** Lists the published operations of the public API, with their paths and scopes, for every authenticated caller. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Catalogue, type PublishedOperation } from '../../accounts/catalogue.js';
import { listSchema, type ListBody } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';

const operationSchema = z
  .object({
    operation: z.string().max(200).meta({ description: 'Id of the operation.', example: 'listCustomers' }),
    method: z.string().max(32).meta({ example: 'GET' }),
    path: z.string().max(2_048).meta({ description: 'Path with its parameters.', example: '/api/v1/customers/{id}' }),
    url: z.string().max(4_096).meta({ description: 'Public URL of the operation.' }),
    hosts: z
      .array(z.string().max(300))
      .max(100)
      .meta({ description: 'Host names under which the operation is served; empty: any.' }),
    scopes: z.array(z.string().max(200)).meta({ description: 'The key needs all of these scopes; empty: any key.' }),
  })
  .meta({ id: 'Operation' });

const operationListSchema = listSchema('OperationList', operationSchema, false);

@Controller()
export class OperationsController {
  constructor(private readonly catalogue: Catalogue) {}

  @Operation('listOperations', operationListSchema)
  list(): ListBody<PublishedOperation> {
    return { data: this.catalogue.publishedOperations(), has_more: false, next_cursor: null };
  }
}
