/**
 * The two tools that stand for all others where there are too many to list: one searches them, one calls what it found.
 */
import { type JsonSchema, type Tool } from './tool.js';
import type { ToolAnnotations } from '../model/described-tool.js';

/** A tool of the gateway's own. */
export interface OwnTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
  /** As `tools/list` says it. */
  readonly json: string;
}

const LONGEST_QUERY = 200;
const MOST_WORDS = 20;
const MOST_FOUND = 50;
const DEFAULT_FOUND = 10;

/** Finds tools by words; free. */
export const SEARCH_OPERATIONS = ownTool({
  name: 'search_operations',
  title: 'Search operations',
  description:
    'Finds operations of this API by words in their names and descriptions. Returns of each its name, what it does ' +
    'and ' +
    'the schema of its arguments; call it with call_operation. Costs nothing.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        maxLength: LONGEST_QUERY,
        description: 'What you want to do, in a few words: "create customer".',
      },
      limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, default: DEFAULT_FOUND, description: 'Most results.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
});

/** Calls a tool by its name, with the scopes and the cost of that one. */
export const CALL_OPERATION = ownTool({
  name: 'call_operation',
  title: 'Call an operation',
  description:
    'Calls an operation that search_operations has found, with arguments as its schema says. Needs what that one ' +
    'needs, and costs what it costs.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 40, description: 'Name of the operation: "create_customer".' },
      arguments: { type: 'object', description: 'Its arguments; none where it takes none.' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  // It does whatever the operation does.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
});

/** Names that tools of operations cannot have. */
export const OWN_NAMES: ReadonlySet<string> = new Set([SEARCH_OPERATIONS.name, CALL_OPERATION.name, 'get_usage']);

/** How much a word of the query says, by where it is found: as it is, or as the beginning of a word. */
const IN_NAME = [8, 4] as const;
const IN_TITLE = [4, 2] as const;
const IN_DESCRIPTION = [1, 0] as const;

/**
 * The tools that have most words of a query, best first; those that are as good in the order in which they come.
 * @param tools those that the caller may call.
 */
export function searchTools(tools: readonly Tool[], query: string, limit = DEFAULT_FOUND): readonly Tool[] {
  const most = Math.min(Math.max(1, limit), MOST_FOUND);
  const words = [...new Set(wordsOf(query.slice(0, LONGEST_QUERY)))].slice(0, MOST_WORDS);
  if (words.length === 0) return tools.slice(0, most);
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ tool }) => tool);
}

/** What a search says of a tool, as JSON: its name, what it does, its arguments. */
export function foundJson({ name, description, inputSchema }: Tool): string {
  return JSON.stringify({ name, description, inputSchema });
}

/** The words of tools, made with the first search. */
const indexes = new WeakMap<Tool, readonly (readonly [ReadonlySet<string>, readonly [number, number]])[]>();

function scoreOf(tool: Tool, words: readonly string[]): number {
  let index = indexes.get(tool);
  if (index === undefined) {
    index = [
      [new Set(wordsOf(tool.name)), IN_NAME],
      [new Set(wordsOf(tool.title ?? '')), IN_TITLE],
      [new Set(wordsOf(tool.description)), IN_DESCRIPTION],
    ];
    indexes.set(tool, index);
  }
  let score = 0;
  for (const word of words) {
    for (const [known, [whole, beginning]] of index) {
      if (known.has(word)) score += whole;
      else if (beginning > 0 && beginsOne(known, word)) score += beginning;
    }
  }
  return score;
}

function beginsOne(known: ReadonlySet<string>, word: string): boolean {
  if (word.length < 3) return false;
  for (const one of known) if (one.startsWith(word)) return true;
  return false;
}

/** In small letters, without accents, the plural as the singular. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/(?<!s)s$/, '') : word));
}

function ownTool(tool: Omit<OwnTool, 'json'>): OwnTool {
  return { ...tool, json: JSON.stringify(tool) };
}
