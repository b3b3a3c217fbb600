/** A search finds the intended operation, returns a short text, and finds nothing if nothing fits. */
import { describe, expect, it } from '@jest/globals';
import { toolsOf } from '../../../test/support/tools.js';
import { allNamesText, foundText, foundTools } from './search.js';

const MAX_CHARACTERS = 6_000;

/** Operations as GitHub names them, each with as large a schema. */
const OPERATIONS: Readonly<Record<string, string>> = {
  issues_create_comment: 'POST /repos/{owner}/issues/{number}/comments Create an issue comment',
  issues_update_comment: 'PATCH /repos/{owner}/issues/comments/{id} Update an issue comment',
  issues_create: 'POST /repos/{owner}/issues Create an issue',
  issues_update: 'PATCH /repos/{owner}/issues/{number} Update an issue; closes it with state: closed',
  issues_get_parent: 'GET /repos/{owner}/issues/{number}/parent Get the parent of an issue',
  issues_get: 'GET /repos/{owner}/issues/{number} Get an issue',
  issues_list_for_repo: 'GET /repos/{owner}/issues List issues of a repository',
  issues_list_field_values: 'GET /repos/{owner}/issues/{number}/fields List field values of an issue',
  pulls_list: 'GET /repos/{owner}/pulls List pull requests',
  pulls_get: 'GET /repos/{owner}/pulls/{number} Get a pull request',
  repos_get: 'GET /repos/{owner} Get a repository',
  repos_delete: 'DELETE /repos/{owner} Delete a repository',
};
const fields = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `field_${at}`,
    { type: 'string', description: `What field ${at} says about it, in words.` },
  ]),
);

const { tools } = toolsOf({
  paths: Object.entries(OPERATIONS).reduce<Record<string, Record<string, unknown>>>((paths, [operationId, said]) => {
    const [method = '', path = '', ...summary] = said.split(' ');
    const body = { content: { 'application/json': { schema: { type: 'object', properties: fields } } } };
    (paths[path] ??= {})[method.toLowerCase()] = {
      operationId,
      'x-mcp': true,
      summary: summary.join(' '),
      ...(['POST', 'PATCH'].includes(method) ? { requestBody: body } : {}),
      responses: { 200: { description: 'ok' } },
    };
    return paths;
  }, {}),
});
const found = (query: string): string[] => foundTools(tools, query, 5).map(({ name }) => name);

describe('a search', () => {
  it.each([
    ['create issue', 'issues_create'],
    ['please add a new issue', 'issues_create'],
    ['update issue', 'issues_update'],
    ['close issue', 'issues_update'],
    ['get issue', 'issues_get'],
    ['show me the issue', 'issues_get'],
    ['issue comment', 'issues_create_comment'],
    ['list issues', 'issues_list_for_repo'],
    ['remove repository', 'repos_delete'],
  ])('for "%s" finds %s first', (query, name) => expect(found(query)[0]).toBe(name));

  it.each(['merge pull request', 'xyzzy', 'send an invoice', 'delete issue label'])(
    'for "%s" finds nothing',
    (query) => {
      expect(found(query)).toEqual([]);
    },
  );

  it.each(['create issue', 'issue', 'get', 'list'])('for "%s" returns at most 1,500 tokens', (query) => {
    const text = foundText(foundTools(tools, query, 20));
    expect(text.length).toBeLessThanOrEqual(MAX_CHARACTERS);
    const { operations } = JSON.parse(text) as { operations: Record<string, unknown>[] };
    expect(operations.length).toBeGreaterThan(0);
    expect(operations.map((each) => 'inputSchema' in each || 'arguments' in each).slice(0, 3)).toEqual(
      [true, true, false].slice(0, operations.length),
    );
  });

  it('names the arguments of a tool whose schema is too long', () => {
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`f${at}`, { type: 'string', description: 'x'.repeat(40) }]),
    );
    const requestBody = {
      required: true,
      content: { 'application/json': { schema: { type: 'object', properties: many, required: ['f1'] } } },
    };
    const post = { operationId: 'post_it', 'x-mcp': true, requestBody, responses: { 200: { description: 'ok' } } };
    const text = foundText(toolsOf({ paths: { '/x': { post } } }).tools);
    expect(JSON.parse(text)).toMatchObject({
      operations: [{ name: 'post_it', arguments: expect.arrayContaining(['f1']), required: ['f1'] }],
    });
    expect(text.length).toBeLessThanOrEqual(MAX_CHARACTERS);
  });

  it('without matches returns as many tool names as fit', () => {
    const names = (of: typeof tools) => (JSON.parse(allNamesText(of)) as { all_names: string[] }).all_names;
    expect(names(tools)).toEqual(tools.map(({ name }) => name));
    expect(allNamesText(Array(1_000).fill(tools[0])).length).toBeLessThanOrEqual(MAX_CHARACTERS);
  });
});
