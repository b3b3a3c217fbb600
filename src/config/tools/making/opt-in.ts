/**
 * Determines which operations are tools, and the settings of these tools. Merges `x-mcp` of an OpenAPI operation with
 * `mcp` of an `operations` entry. Each field of the entry takes precedence.
 */
import { operationTool, TOOL_MESSAGE, toolSettings, type ToolSettings } from '../../model/mcp-schema.js';
import { didYouMean, type ConfigProblem, type DocumentPath } from '../../model/problem.js';
import type { OperationDraft } from '../../openapi/openapi-operations.js';
import { isObject } from '../../openapi/openapi-traversal.js';
import type { SourceDocument } from '../../source/source-document.js';

export const EXTENSION = 'x-mcp';

/** Location in a file, at which problems are reported. */
export interface Place {
  readonly source: SourceDocument;
  readonly path: DocumentPath;
}

/** Merged tool settings of an operation, with the location of each setting. */
export interface OptIn {
  readonly settings: ToolSettings;
  /** Returns the location of a setting, or the location of the tool settings if `field` is undefined. */
  readonly placeOf: (field?: keyof ToolSettings) => Place;
}

/**
 * Reads the tool settings of an operation. `optIn` is undefined if the operation is not a tool. Invalid `x-mcp`
 * settings become problems, and such an operation is not a tool. The schema check reports invalid `mcp` settings.
 */
export function readOptIn(draft: OperationDraft): { readonly optIn?: OptIn; readonly problems: ConfigProblem[] } {
  const described = { source: draft.source, path: [...draft.path, EXTENSION] };
  const extension = draft.openapi?.[EXTENSION];
  const entry = draft.toolEntry;
  const problems = extension === undefined ? [] : faultsOf(extension, described);
  if (problems.length > 0) return { problems };
  const inDocument = settingsOf(extension);
  const inConfig = settingsOf(entry?.settings);
  const isTool = entry === undefined ? inDocument !== undefined : inConfig !== undefined;
  if (!isTool) return { problems };
  const placeOf = (field?: keyof ToolSettings): Place => {
    const isInConfig = entry !== undefined && (field === undefined || inConfig?.[field] !== undefined);
    const { source, path } = isInConfig ? entry : extension === undefined ? draft : described;
    return { source, path: field === undefined ? path : [...path, field] };
  };
  return { optIn: { settings: { ...inDocument, ...inConfig }, placeOf }, problems };
}

/** Returns the settings of a tool. Returns undefined if the value does not make the operation a tool. */
function settingsOf(setting: unknown): ToolSettings | undefined {
  if (setting === true) return {};
  return isObject(setting) ? setting : undefined;
}

function faultsOf(value: unknown, { source, path }: Place): ConfigProblem[] {
  if (!isObject(value)) {
    const isTruth = operationTool.safeParse(value).success;
    return isTruth ? [] : [source.problem(path, TOOL_MESSAGE, 'true is enough: the document says the rest')];
  }
  const { error } = toolSettings.safeParse(value);
  const known = Object.keys(toolSettings.shape);
  return (error?.issues ?? []).flatMap((issue): ConfigProblem[] => {
    const place = [...path, ...(issue.path as DocumentPath)];
    if (issue.code !== 'unrecognized_keys') {
      const field = toolSettings.shape[issue.path[0] as keyof typeof toolSettings.shape];
      return [source.problem(place, issue.message, field?.description ?? 'docs/mcp.md has what it may say')];
    }
    return issue.keys.map((key) => {
      const hint = didYouMean(key, known) ?? `known here: ${known.join(', ')}`;
      return source.problem([...place, key], `unknown key \`${key.slice(0, 60)}\``, hint, 'key');
    });
  });
}
