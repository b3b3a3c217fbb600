/** OpenAPI documents of real services. See test/openapi-documents. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { temporaryFolder } from './processes.js';

/** Decompresses a document. @returns the path of the JSON file. */
export function realDocument(name: string): string {
  const path = join(temporaryFolder('openapi'), `${name}.json`);
  writeFileSync(path, brotliDecompressSync(readFileSync(`test/openapi-documents/${name}.json.br`)));
  return path;
}
