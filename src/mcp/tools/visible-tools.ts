/**
 * Determines the tools that a key can see: the operations that its scopes allow, and the server's own tools. The result
 * is cached per configuration and set of scopes.
 */
import type { Tool, ToolSet } from '../../config/tools/tool.js';
import type { ScopeSet } from '../../keys/scopes.js';
import type { McpParts } from '../mcp-parts.js';
import { GET_USAGE, SEARCH_OPERATIONS, callOperationTool, type ListedTool } from './own-descriptions.js';

const PAGE_TOOLS = 50;
const CURSOR_PREFIX = 'after:';

/** VisibleTools holds the tools for one set of scopes, and formats the pages of `tools/list`. */
export class VisibleTools {
  /** Tools for API operations, in configuration order. */
  readonly tools: readonly Tool[];
  /** Whether there are too many operations to list, so that assistants must search them. */
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

  /**
   * Returns the result members of a page of `tools/list`, as JSON without braces. Returns undefined if the cursor is
   * invalid.
   */
  page(cursor: unknown): string | undefined {
    const from = cursor === undefined ? 0 : this.positionAfter(cursor);
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

  /**
   * Returns the position after a cursor, or undefined if the cursor is invalid. A cursor names a tool, so it stays
   * valid when the configuration changes, unless the tool is removed.
   */
  private positionAfter(cursor: unknown): number | undefined {
    if (typeof cursor !== 'string') return undefined;
    const text = Buffer.from(cursor, 'base64url').toString();
    if (!text.startsWith(CURSOR_PREFIX)) return undefined;
    const at = this.listed.findIndex(({ name }) => name === text.slice(CURSOR_PREFIX.length));
    return at === -1 ? undefined : at + 1;
  }
}

/** Visible tools that are cached, by tool set and scope set. */
const visibleOf = new WeakMap<ToolSet, WeakMap<ScopeSet, VisibleTools>>();

/** Returns the visible tools for a set of scopes, with the current tools and settings. */
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
