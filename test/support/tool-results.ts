/** Calls of tools in tests, and what comes of them. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Answer } from './http.js';
import { startMcpWorld, type McpWorld } from './mcp-world.js';

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly resultType: string;
}

/** The result in a response. */
export function resultOf(answer: Answer): ToolResult {
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"result"')]);
  return answer.json<{ result: ToolResult }>().result;
}

/** Calls a tool. */
export async function callTool(world: McpWorld, secret: string, name: string, args: object = {}): Promise<ToolResult> {
  return resultOf(await world.modern(secret, 'tools/call', { name, arguments: args }));
}

/** The words with which a call is refused. */
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

/** ToolScene holds the objects with which a file's tests call tools. */
export interface ToolScene {
  readonly world: McpWorld;
  /** Secret of a key with all scopes and no limit. */
  readonly secret: string;
}

/** The scene of the tests of one file: there from before the first until behind the last. */
export function sceneOfTests(): ToolScene {
  const scene: { world?: McpWorld; secret?: string } = {};
  beforeAll(async () => {
    scene.world = await startMcpWorld();
    ({ secret: scene.secret } = await scene.world.newKey('unlimited'));
  });
  afterAll(() => scene.world?.stop());
  return scene as ToolScene;
}
