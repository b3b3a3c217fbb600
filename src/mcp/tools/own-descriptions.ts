/** Provides the descriptions of the server's own tools for `tools/list`. */
import type { Tool } from '../../config/tools/tool.js';

/** ListedTool is a tool in `tools/list`. */
export interface ListedTool {
  readonly name: string;
  /** Entry of the tool in `tools/list`, as JSON. */
  readonly json: string;
}

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** GET_USAGE describes the tool that returns limits and usage. */
export const GET_USAGE = listed({
  name: 'get_usage',
  title: 'Limits and usage',
  description:
    'What is used and what is left of every limit of this API key and its account, and when each comes back. Costs ' +
    'nothing: call it before many calls, and after a refusal with rate_limited or quota_exceeded.',
  inputSchema: { type: 'object', additionalProperties: false },
  annotations: READS,
});

/** SEARCH_OPERATIONS describes the tool that searches the operations. */
export const SEARCH_OPERATIONS = listed({
  name: 'search_operations',
  title: 'Search operations',
  description:
    'Finds operations of this API by words. Says what arguments the best two take, and names others. Costs nothing. ' +
    'Call what is found by call_operation.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        minLength: 1,
        maxLength: 200,
        description: 'What it should do, in a few words: "create customer", "list invoices".',
      },
      limit: { type: 'integer', minimum: 1, maximum: 20, default: 5, description: 'Maximum number of operations.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
  annotations: READS,
});

/**
 * Describes the tool that calls an operation by its name. The tool is described as read-only only if all operations
 * are.
 */
export function callOperationTool(tools: readonly Tool[]): ListedTool {
  const reads = tools.every(({ annotations }) => annotations.readOnlyHint);
  return listed({
    name: 'call_operation',
    title: 'Call an operation',
    description:
      'Calls an operation that search_operations has found, with arguments as its schema says. Costs as much as the operation.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 40, description: 'The name that search_operations gave.' },
        arguments: { type: 'object', description: 'As the inputSchema of the operation says.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: {
      readOnlyHint: reads,
      destructiveHint: tools.some(({ annotations }) => annotations.destructiveHint),
      idempotentHint: tools.every(({ annotations }) => annotations.idempotentHint),
      openWorldHint: true,
    },
  });
}

function listed(description: Readonly<Record<string, unknown>> & { readonly name: string }): ListedTool {
  return { name: description.name, json: JSON.stringify(description) };
}
