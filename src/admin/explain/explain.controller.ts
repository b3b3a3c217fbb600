/**
 * Explains which limits apply to a request with a key, and how the gateway would respond now. Explaining a request uses
 * no quota.
 */
import { Body, Controller } from '@nestjs/common';
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { AccountStore } from '../../accounts/accounts.js';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import { isHost } from '../../http/grammar/host.js';
import { inBody, ResourceOfAccount } from '../access/requested-resource.js';
import { Operation } from '../openapi/operation-decorator.js';
import { Explainer } from './explainer.js';
import { explanationResource, explanationSchema, type ExplanationResource } from './explanation.resource.js';

const explainSchema = z
  .strictObject({
    api_key_id: plainText(100),
    operation: plainText(200)
      .optional()
      .meta({ description: 'Id of an operation. Alternatively, send method and path.' }),
    method: z
      .string()
      .regex(/^[A-Z][A-Z-]{0,30}$/, 'must be a method such as GET')
      .max(31)
      .optional(),
    path: z
      .string()
      .max(8_192)
      .regex(/^\/[^\u0000-\u001f\u007f-\u009f]*$/, 'must begin with /, and have no control characters')
      .optional()
      .meta({ description: 'Public path including the base path. The query is only checked for its format.' }),
    host: z.string().max(300).refine(isHost, 'must be a host name or address, with or without a port').optional().meta({
      description:
        'Value of `Host`, such as `api.example.com`. Required with a path that several APIs have under different hosts.',
      example: 'api.example.com',
    }),
    client_address: z
      .union([z.ipv4().max(15), z.ipv6().max(39)], 'must be an address')
      .optional()
      .meta({ description: 'Source address of the request; default: an address that the key allows.' }),
  })
  .superRefine((body, context) => {
    const isRequest = body.method !== undefined && body.path !== undefined;
    const isMixed =
      body.operation !== undefined && [body.method, body.path, body.host].some((field) => field !== undefined);
    if (isMixed || (body.operation === undefined && !isRequest)) {
      context.addIssue({
        code: 'custom',
        message: 'must name either an operation, or a method and a path, with or without a host',
      });
    }
  })
  .meta({ id: 'Explain' });

type Explain = z.output<typeof explainSchema>;

@Controller()
@ResourceOfAccount('api_key', inBody('api_key_id'))
export class ExplainController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
    private readonly explainer: Explainer,
  ) {}

  @Operation('explain', explanationSchema)
  async explain(@Body({ schema: explainSchema }) body: Explain): Promise<ExplanationResource> {
    const key = await this.keys.get(body.api_key_id);
    const account = await this.accounts.get(key.accountId);
    const { operation, method, path, host, client_address: clientAddress } = body;
    const explanation = await this.explainer.explain(key, account, {
      operationId: operation,
      method,
      path,
      host,
      clientAddress,
    });
    return explanationResource(explanation, this.explainer.pathOf);
  }
}
