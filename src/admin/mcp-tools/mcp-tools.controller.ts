/**
 * Lists the tools of the MCP server, which AI assistants can call. A filter selects the tools for a key with given
 * scopes.
 */
import { Controller, Param, Query } from '@nestjs/common';
import { z } from 'zod';
import { AccountStore } from '../../accounts/accounts.js';
import { Catalogue } from '../../accounts/catalogue.js';
import { Operation } from '../openapi/operation-decorator.js';
import { countField } from '../openapi/fields.js';
import { mcpToolsQuerySchema, type McpToolsQuery } from './mcp-tools-query.js';

const toolSchema = z
  .object({
    name: z.string().max(40).meta({ example: 'list_customers' }),
    title: z.string().max(100).nullable(),
    description: z.string().max(2_000).meta({ description: 'Description by which an assistant selects the tool.' }),
    operation: z
      .string()
      .max(200)
      .meta({ description: 'Id of the operation that the tool calls.', example: 'listCustomers' }),
    scopes: z.array(z.string().max(200)).meta({ description: 'The key needs all of these scopes; empty: any key.' }),
    read_only: z.boolean().meta({ description: 'Whether the tool only reads.' }),
    destructive: z.boolean().meta({ description: 'Whether the tool can overwrite or remove data.' }),
    tokens: countField.meta({
      description: "Estimated number of tokens that the tool uses in an assistant's context.",
    }),
  })
  .meta({ id: 'McpTool' });

const toolsSchema = z
  .object({
    enabled: z.boolean().meta({ description: 'Whether the MCP server is on and has a tool.' }),
    server_name: z.string().max(10_000),
    url: z.string().max(4_096).meta({ description: 'URL of the MCP server.', example: 'https://api.example.com/mcp' }),
    oauth_url: z.string().max(4_096).nullable().meta({
      description: 'URL for assistants that sign in with OAuth; null: not available.',
      example: 'https://mcp.example.com/mcp',
    }),
    total: countField.meta({ description: "Number of all tools, regardless of a key's scopes." }),
    searched: z.boolean().meta({
      description:
        'Whether assistants get `search_operations` and `call_operation` instead, because there are too ' +
        'many tools.',
    }),
    data: z.array(toolSchema),
  })
  .meta({ id: 'McpTools' });

@Controller()
export class McpToolsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly catalogue: Catalogue,
  ) {}

  @Operation('listMcpTools', toolsSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: mcpToolsQuerySchema }) { scopes }: McpToolsQuery,
  ): Promise<z.output<typeof toolsSchema>> {
    await this.accounts.get(accountId);
    const { isEnabled, serverName, url, oauthUrl, total, isSearched, tools } = this.catalogue.tools(scopes);
    return {
      enabled: isEnabled,
      server_name: serverName,
      url,
      oauth_url: oauthUrl,
      total,
      searched: isSearched,
      data: tools.map(({ name, title = null, description, operation, annotations, tokens }) => ({
        name,
        title,
        description,
        operation: operation.id,
        scopes: [...operation.scopes],
        read_only: annotations.readOnlyHint,
        destructive: annotations.destructiveHint,
        tokens,
      })),
    };
  }
}
