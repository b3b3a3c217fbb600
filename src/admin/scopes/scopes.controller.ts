/**
 * Lists the scopes that the caller can give a key, with the operations that each scope allows. A portal session with
 * limited scopes sees only those scopes.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Catalogue, type GrantableScope } from '../../accounts/catalogue.js';
import { missingScopes } from '../../keys/scopes.js';
import { listSchema, type ListBody } from '../request/list.js';
import { grantedScopes } from '../access/portal-scopes.js';
import { Caller, type Principal } from '../access/principal.js';
import { Operation } from '../openapi/operation-decorator.js';

const scopeSchema = z
  .object({
    scope: z.string().max(200).meta({ example: 'customers:read' }),
    operations: z.array(z.string().max(200)).meta({ description: 'Ids of the operations that need this scope.' }),
    read_only: z.boolean().meta({ description: 'Whether all its operations are GET or HEAD.' }),
    description: z.string().max(500).nullable().meta({
      description: 'Description from the OpenAPI documents; null without one, and for wildcards.',
      example: 'Look up customers',
    }),
    group: z
      .string()
      .max(100)
      .nullable()
      .meta({ description: 'Group of the scope: the tag of its operations.', example: 'Customers' }),
    translations: z
      .record(
        z.string().max(20),
        z.object({ description: z.string().max(500).nullable(), group: z.string().max(100).nullable() }),
      )
      .meta({
        description: 'Translations of both by language, from the OpenAPI documents.',
        example: { es: { description: 'Buscar clientes', group: 'Clientes' } },
      }),
  })
  .meta({ id: 'Scope' });

const scopeListSchema = listSchema('ScopeList', scopeSchema, false);

type ScopeResource = Omit<GrantableScope, 'isReadOnly'> & { readonly read_only: boolean };

@Controller()
export class ScopesController {
  constructor(private readonly catalogue: Catalogue) {}

  @Operation('listScopes', scopeListSchema)
  list(@Caller() caller: Principal): ListBody<ScopeResource> {
    const granted = grantedScopes(caller);
    const grantable = this.catalogue
      .scopes()
      .filter(({ scope }) => granted === null || missingScopes(granted, [scope]).length === 0);
    const data = grantable.map(({ isReadOnly, ...scope }) => ({ ...scope, read_only: isReadOnly }));
    return { data, has_more: false, next_cursor: null };
  }
}
