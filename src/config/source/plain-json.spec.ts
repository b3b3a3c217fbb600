/** Plain JSON is read without the YAML parser, with the same values, problems and positions. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../test/support/processes.js';
import type { DocumentPath } from '../model/problem.js';
import { SourceDocument, type SourceReading } from './source-document.js';
import { DOCUMENT_BOUNDS } from './yaml-parse.js';

const TEXT = `{
  "info": { "title": "a \\"quoted\\" {text}, [with]: marks", "version": 1.10 },
  "tags": [ "a" , {"name":"b","list":[[1,2],[]]}, null ],
  "paths" : {
    "/a/{id}": { "get" : {"operationId": "one", "deprecated": false} },
    "/empty": {}, "\\u002fescaped": { "x": -1.5e3 }
  }
}
`;

async function read(text: string): Promise<SourceReading> {
  const file = join(temporaryFolder('json'), 'document.json');
  await writeFile(file, text);
  return SourceDocument.read(file, DOCUMENT_BOUNDS);
}

/** Returns every path within a value. */
function pathsOf(value: unknown, path: DocumentPath = []): DocumentPath[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...entries.flatMap(([key, child]) => pathsOf(child, [...path, key]))];
}

describe('plain JSON', () => {
  it('has the value and the positions that the YAML parser finds', async () => {
    const { source: plain } = await read(TEXT);
    // A comment makes it YAML.
    const { source: yaml } = await read(`# comment\n${TEXT}`);
    const value = plain?.toJS();
    expect(value).toEqual(yaml?.toJS());
    const paths = [...pathsOf(value), ['paths', '/none', 'get'], ['tags', 9]];
    expect(paths.length).toBeGreaterThan(20);
    for (const path of paths) {
      for (const side of ['key', 'value'] as const) {
        const expected = yaml?.problem(path, '', '', side);
        const { line = 0, column } = plain?.problem(path, '', '', side) ?? {};
        expect([path, side, line + 1, column]).toEqual([path, side, expected?.line, expected?.column]);
      }
    }
    for (const path of [['info', 'version'], ['info', 'title'], ['none'], ['paths', '/escaped', 'x']]) {
      expect(plain?.numberText(path)).toBe(yaml?.numberText(path));
    }
  });

  it.each([
    ['{"a": 1, "a": 2}', 'the key `a` is in the same map twice'],
    ['{"__proto__": 1}', 'the key `__proto__` is not allowed'],
    [`{"a": ${'['.repeat(250)}${']'.repeat(250)}}`, 'has more than 200 maps and lists within each other'],
    [`{"a": [${'0,'.repeat(2_100_000)}0]}`, 'has more than 2000000 tokens'],
  ])('that is invalid is refused: %.20s', async (text, message) => {
    expect((await read(text)).problems.map((problem) => problem.message)).toEqual([expect.stringContaining(message)]);
  });
});
