/** Reads a service's OpenAPI document and validates it against the standard's schema. */
import { encodeReferences, referenceProblems, removeLostMappings } from './openapi-references.js';
import { structureProblems } from './openapi-structure.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import type { ConfigProblem } from '../model/problem.js';
import type { FileFault } from '../source/read-file.js';
import { SourceDocument } from '../source/source-document.js';
import { DOCUMENT_BOUNDS } from '../source/yaml-parse.js';

/** A parsed document with the positions of its parts. */
export interface OpenApiDocument {
  readonly source: SourceDocument;
  readonly value: JsonObject;
}

/** Result of reading. Without a document there is a problem or `unreadable`. */
export interface OpenApiReading {
  readonly document?: OpenApiDocument;
  readonly problems: ConfigProblem[];
  readonly warnings?: readonly ConfigProblem[];
  /** Why the file could not be opened. The caller reports it where the file is named. */
  readonly unreadable?: FileFault;
}

const VERSIONS_HINT = 'OpenAPI 3.0.x and 3.1.x are read';

/**
 * Reads, parses and validates a document. Never throws. Returns invalid documents too if they could be parsed, so that
 * the rest can be checked.
 */
export async function readOpenApi(file: string): Promise<OpenApiReading> {
  const reading = await SourceDocument.read(file, DOCUMENT_BOUNDS);
  const { source, problems } = reading;
  if (source === undefined || problems.length > 0) return { problems, ...unreadableOf(reading) };
  const value = source.toJS();
  if (!isObject(value)) {
    const found = value === null || value === undefined ? 'it is empty' : 'it must be a map';
    return {
      problems: [source.problem([], `is not an OpenAPI document: ${found}`, 'see whether this is the right file')],
    };
  }
  const version = versionProblem(value, source);
  if (version !== undefined) return { problems: [version] };
  // A version such as 1.10 is usually meant as text. The gateway only displays it.
  const written = source.numberText(['info', 'version']);
  if (written !== undefined) (value['info'] as Record<string, unknown>)['version'] = written;
  // Check before encoding, so that problems show references as written.
  const references = referenceProblems(value, source);
  const warnings = removeLostMappings(value, source);
  encodeReferences(value);
  problems.push(...(await structureProblems(value, source)), ...references);
  return { document: { source, value }, problems, warnings };
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
