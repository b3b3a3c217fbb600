/** OpenAPI documents of real services: see test/openapi-documents. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { temporaryFolder } from './processes.js';

/** Unpacks a document. @returns the path of the JSON file */
export function realDocument(name: string): string {
  const path = join(temporaryFolder('openapi'), `${name}.json`);
  writeFileSync(path, brotliDecompressSync(readFileSync(`test/openapi-documents/${name}.json.br`)));
  return path;
}
