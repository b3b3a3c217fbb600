/** Reads the OpenAPI document of a service and validates it against the standard's schema. Faults become problems. */
import { encodeReferences, referenceProblems, removeLostMappings } from './openapi-references.js';
import { structureProblems } from './openapi-structure.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import type { ConfigProblem } from '../model/problem.js';
import type { FileFault } from '../source/read-file.js';
import { SourceDocument } from '../source/source-document.js';
import { DOCUMENT_BOUNDS } from '../source/yaml-parse.js';

/** A parsed OpenAPI document. `source` contains the line of each part. */
export interface OpenApiDocument {
  readonly source: SourceDocument;
  readonly value: JsonObject;
}

/** Result of `readOpenApi`. Without a document, there is at least one problem, or `unreadable` is set. */
export interface OpenApiReading {
  readonly document?: OpenApiDocument;
  readonly problems: ConfigProblem[];
  readonly warnings?: readonly ConfigProblem[];
  /** Why the file could not be opened. The caller reports this fault at the setting that names the file. */
  readonly unreadable?: FileFault;
}

const VERSIONS_HINT = 'OpenAPI 3.0.x and 3.1.x are read';

/**
 * Reads, parses and validates a document. Never throws. Also returns a document that violates the OpenAPI schema, so
 * that the caller can check the rest of the configuration.
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
  // YAML reads a version such as 1.10 as the number 1.1. The gateway only displays the version, so keep the original
  // text.
  const versionText = source.numberText(['info', 'version']);
  if (versionText !== undefined) (value['info'] as Record<string, unknown>)['version'] = versionText;
  // Check references before `encodeReferences` changes them, so that problems show the original text.
  const references = referenceProblems(value, source);
  const warnings = removeLostMappings(value, source);
  encodeReferences(value);
  problems.push(...(await structureProblems(value, source)), ...references);
  return { document: { source, value }, problems, warnings };
}

function unreadableOf({ unreadable }: { readonly unreadable?: FileFault }): { readonly unreadable?: FileFault } {
  return unreadable === undefined ? {} : { unreadable };
}

/** Returns a problem unless the OpenAPI version of the document is 3.0.x or 3.1.x. */
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
