/**
 * Reads the OpenAPI document of one service: parsed, of a version that we know, and
 * valid against the standard's schema.
 */
import { encodeReferences, referenceProblems } from './openapi-references.js';
import { structureProblems } from './openapi-structure.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import type { ConfigProblem } from '../model/problem.js';
import type { FileFault } from '../source/read-file.js';
import { SourceDocument } from '../source/source-document.js';
import { DOCUMENT_BOUNDS } from '../source/yaml-parse.js';

/** A valid document and where its parts stand. */
export interface OpenApiDocument {
  readonly source: SourceDocument;
  readonly value: JsonObject;
}

/** What came of reading a document; without one there is a problem, or it is `unreadable`. */
export interface OpenApiReading {
  readonly document?: OpenApiDocument;
  readonly problems: ConfigProblem[];
  /** Why the file could not be opened; the place to say so is where it is named. */
  readonly unreadable?: FileFault;
}

const VERSIONS_HINT = 'OpenAPI 3.0.x and 3.1.x are read';

/**
 * Reads, parses and validates; never throws. A document with faults is still given where it could be parsed, so that
 * the rest of it can be looked at too.
 */
export async function readOpenApi(file: string): Promise<OpenApiReading> {
  const reading = await SourceDocument.read(file, DOCUMENT_BOUNDS);
  const { source, problems } = reading;
  if (source === undefined || problems.length > 0) return { problems, ...unreadableOf(reading) };
  // The gateway shows it, and does not count with it: most who write 1.10 mean the text.
  source.readAsText(['info', 'version']);
  const value = source.toJS();
  if (!isObject(value)) {
    const found = value === null || value === undefined ? 'it is empty' : 'it must be a map';
    return {
      problems: [source.problem([], `is not an OpenAPI document: ${found}`, 'see whether this is the right file')],
    };
  }
  const version = versionProblem(value, source);
  if (version !== undefined) return { problems: [version] };
  // Before they are encoded: a problem shows a reference as it was written.
  const references = referenceProblems(value, source);
  encodeReferences(value);
  problems.push(...(await structureProblems(value, source)), ...references);
  return { document: { source, value }, problems };
}

function unreadableOf({ unreadable }: { readonly unreadable?: FileFault }): { readonly unreadable?: FileFault } {
  return unreadable === undefined ? {} : { unreadable };
}

function versionProblem(value: JsonObject, source: SourceDocument): ConfigProblem | undefined {
  const version = value['openapi'];
  if (typeof version === 'string' && /^3\.[01]\.\d+(-\S+)?$/.test(version)) return undefined;
  if (version !== undefined) {
    const isShort = /^3\.[01]$/.test(String(version));
    const hint = isShort ? `write all three numbers, in quotes: "${String(version)}.0"` : VERSIONS_HINT;
    const shown = typeof version === 'object' ? 'that is no text' : String(version);
    return source.problem(['openapi'], `the OpenAPI document has version ${shown}`, hint);
  }
  if (value['swagger'] !== undefined) {
    const hint = `${VERSIONS_HINT}: convert it, for example by npx swagger2openapi`;
    return source.problem(['swagger'], `the OpenAPI document has version ${String(value['swagger'])}`, hint);
  }
  const isConfig = 'services' in value && 'plans' in value;
  const hint = isConfig
    ? 'this is a gateway.yaml: name the document of the service'
    : `write it at the top: ${VERSIONS_HINT}`;
  return source.problem([], 'the OpenAPI document has no `openapi` version', hint);
}
