/**
 * What of the tools a key sees: those that its scopes allow, and the server's own. Made once for each set of scopes
 * and each configuration; keys with the same scopes share it.
 */
import type { Tool, ToolSet } from '../../config/tools/tool.js';
import type { ScopeSet } from '../../keys/scopes.js';
import type { McpParts } from '../mcp-parts.js';
import { GET_USAGE, SEARCH_OPERATIONS, callOperationTool, type ListedTool } from './own-descriptions.js';

const PAGE_TOOLS = 50;
const CURSOR_PREFIX = 'after:';

/** VisibleTools are those that a set of scopes allows. */
export class VisibleTools {
  /** In the order of the configuration. */
  readonly tools: readonly Tool[];
  /** Whether they are searched instead of listed. */
  readonly isSearched: boolean;
  private readonly listed: readonly ListedTool[];
  private readonly pages = new Map<number, string>();

  constructor(toolSet: ToolSet, scopeSet: ScopeSet, mostListed: number) {
    this.tools = toolSet.tools.filter(({ operation }) => scopeSet.allows(operation));
    this.isSearched = this.tools.length > mostListed;
    this.listed = this.isSearched
      ? [GET_USAGE, SEARCH_OPERATIONS, callOperationTool(this.tools)]
      : [GET_USAGE, ...this.tools];
  }

  /** Members of a page of the list: JSON. Undefined for a cursor that none has given. */
  page(cursor: unknown): string | undefined {
    const from = cursor === undefined ? 0 : this.placeOf(cursor);
    if (from === undefined) return undefined;
    let page = this.pages.get(from);
    if (page === undefined) this.pages.set(from, (page = this.pageFrom(from)));
    return page;
  }

  private pageFrom(from: number): string {
    const to = from + PAGE_TOOLS;
    const members = `"tools":[${this.listed
      .slice(from, to)
      .map(({ json }) => json)
      .join(',')}]`;
    const last = this.listed[to - 1];
    if (last === undefined || to >= this.listed.length) return members;
    return `${members},"nextCursor":"${Buffer.from(CURSOR_PREFIX + last.name).toString('base64url')}"`;
  }

  /** Names stay where the configuration changes: a cursor goes on behind the tool that it names, wherever that is. */
  private placeOf(cursor: unknown): number | undefined {
    if (typeof cursor !== 'string') return undefined;
    const text = Buffer.from(cursor, 'base64url').toString();
    if (!text.startsWith(CURSOR_PREFIX)) return undefined;
    const at = this.listed.findIndex(({ name }) => name === text.slice(CURSOR_PREFIX.length));
    return at === -1 ? undefined : at + 1;
  }
}

/** Caches the visible tools by tool set and scope set. */
const visibleOf = new WeakMap<ToolSet, WeakMap<ScopeSet, VisibleTools>>();

/** Those of a set of scopes, by the tools and settings in force, which change together. */
export function visibleTools(
  { tools, settings }: Pick<McpParts, 'tools' | 'settings'>,
  scopeSet: ScopeSet,
): VisibleTools {
  const toolSet = tools.current;
  let byScopes = visibleOf.get(toolSet);
  if (byScopes === undefined) visibleOf.set(toolSet, (byScopes = new WeakMap()));
  let visible = byScopes.get(scopeSet);
  if (visible === undefined)
    byScopes.set(scopeSet, (visible = new VisibleTools(toolSet, scopeSet, settings().mostListed)));
  return visible;
}
