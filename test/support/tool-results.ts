/** Calls MCP tools in tests, and reads their results. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Answer } from './http.js';
import { startMcpWorld, type McpWorld } from './mcp-world.js';

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly resultType: string;
}

/** Returns the result in a response. Expects status 200. */
export function resultOf(answer: Answer): ToolResult {
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"result"')]);
  return answer.json<{ result: ToolResult }>().result;
}

export async function callTool(world: McpWorld, secret: string, name: string, args: object = {}): Promise<ToolResult> {
  return resultOf(await world.modern(secret, 'tools/call', { name, arguments: args }));
}

/** Calls a tool, and expects a refusal. Returns its text, parsed as JSON. */
export async function refusalOf(
  world: McpWorld,
  secret: string,
  name: string,
  args: object = {},
): Promise<Record<string, unknown>> {
  const { isError, content, structuredContent } = await callTool(world, secret, name, args);
  expect([isError, content.length, structuredContent]).toEqual([true, 1, undefined]);
  return JSON.parse(content[0]!.text) as Record<string, unknown>;
}

/** ToolScene holds what the tests of a file need to call tools. */
export interface ToolScene {
  readonly world: McpWorld;
  /** Secret of a key with all scopes and no limit. */
  readonly secret: string;
}

/** Starts an MCP server before the first test of a file, and stops it after the last one. */
export function sceneOfTests(): ToolScene {
  const scene: { world?: McpWorld; secret?: string } = {};
  beforeAll(async () => {
    scene.world = await startMcpWorld();
    ({ secret: scene.secret } = await scene.world.newKey('unlimited'));
  });
  afterAll(() => scene.world?.stop());
  return scene as ToolScene;
}
