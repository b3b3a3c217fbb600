/** Creates the callable tools of a configuration from their serialized descriptions. */
import { LRUCache } from 'lru-cache';
import type { DescribedTool } from '../../model/described-tool.js';
import type { Operation } from '../../model/schema.js';
import { checkArguments } from './argument-check.js';
import { bindArguments } from './bind-arguments.js';
import { structuredResult } from './structured-result.js';
import { type BoundRequest, type ArgumentFaults, type JsonSchema, type Tool, type ToolSet } from '../tool.js';

/**
 * Maximum number of tools with parsed schemas in memory. Parsed schemas take several times the memory of their JSON.
 */
const MAX_PARSED = 200;

interface ToolSchemas {
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
}

/**
 * Creates the tools in the given order. Skips tools whose operation does not exist.
 * @param operations operations of the same configuration
 */
export function makeToolSet(described: readonly DescribedTool[], operations: readonly Operation[]): ToolSet {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  const schemas = new LRUCache<string, ToolSchemas>({ max: MAX_PARSED });
  const tools = described.flatMap((each) => {
    const operation = byId.get(each.operation);
    return operation === undefined ? [] : [new OperationTool(each, operation, schemas)];
  });
  return { tools, byName: new Map(tools.map((tool) => [tool.name, tool])) };
}

/** OperationTool is a tool for one operation. It parses its schemas when a caller first needs them. */
class OperationTool implements Tool {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  readonly annotations;
  readonly json: string;
  readonly tokens: number;
  readonly pagingArguments: readonly string[];

  constructor(
    private readonly described: DescribedTool,
    readonly operation: Operation,
    /** Schemas of recently used tools, by tool name. */
    private readonly parsed: LRUCache<string, ToolSchemas>,
  ) {
    ({ name: this.name, description: this.description, annotations: this.annotations } = described);
    ({ title: this.title, json: this.json, tokens: this.tokens } = described);
    this.pagingArguments = described.pagingArguments;
  }

  get inputSchema(): JsonSchema {
    return this.schemas.inputSchema;
  }

  get outputSchema(): JsonSchema | undefined {
    return this.described.hasOutput ? this.schemas.outputSchema : undefined;
  }

  readonly bind = (args: Readonly<Record<string, unknown>>): BoundRequest | ArgumentFaults => {
    const faults = checkArguments(args, this.schemas.inputSchema);
    return faults.length > 0 ? { faults } : bindArguments(this.described.binding, args);
  };

  readonly structure = (body: unknown): Readonly<Record<string, unknown>> | undefined => {
    const { outputSchema } = this;
    return outputSchema && structuredResult(body, this.described.wrapsResult, outputSchema);
  };

  private get schemas(): ToolSchemas {
    const known = this.parsed.get(this.name);
    if (known !== undefined) return known;
    const schemas = JSON.parse(this.json) as ToolSchemas;
    this.parsed.set(this.name, schemas);
    return schemas;
  }
}
