/** Defines the query parameter of the list of MCP tools: the scopes of a key. */
import { z } from 'zod';

/** Maximum length of the parameter, in characters. */
const LONGEST_SCOPES = 8_000;
const SCOPES_MESSAGE = 'must be scopes such as customers:read, with commas between them';
const SCOPES = /^[^\s,\p{Cc}]{1,200}(?:,[^\s,\p{Cc}]{1,200})*$/u;

export const mcpToolsQuerySchema = z.strictObject({
  scopes: z
    .string()
    .max(LONGEST_SCOPES, SCOPES_MESSAGE)
    .regex(SCOPES, SCOPES_MESSAGE)
    .transform((text) => text.split(','))
    .pipe(z.array(z.string()))
    .optional()
    .meta({
      description: 'Only tools that a key with these scopes can call; several separated by commas.',
      schema: { type: 'string', minLength: 1, maxLength: LONGEST_SCOPES, pattern: '^[a-z*][a-z0-9:*_,-]*$' },
    }),
});

export type McpToolsQuery = z.output<typeof mcpToolsQuerySchema>;
