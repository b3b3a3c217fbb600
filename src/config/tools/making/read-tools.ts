/** Creates MCP tools for the operations that opt in, when the configuration is loaded. Faults become problems. */
import type { DescribedTool } from '../../model/described-tool.js';
import type { DescribedOperation } from '../../model/loaded-config.js';
import type { ConfigProblem } from '../../model/problem.js';
import type { UnpublishedPath } from '../../model/schema.js';
import type { OperationDraft } from '../../openapi/openapi-operations.js';
import type { JsonObject } from '../../openapi/openapi-traversal.js';
import type { NumberedDraft } from '../../openapi/operations.js';
import { annotationsOf } from './annotations.js';
import { OWN_NAMES } from '../own-names.js';
import { SchemaConverter } from './convert-schema.js';
import { type OptIn, readOptIn } from './opt-in.js';
import { readParameters } from './parameters.js';
import { isSegmentPattern } from '../../openapi/segment-pattern.js';
import { readRequestBody } from './request-body.js';
import { ReservedSegments } from './reserved-segments.js';
import { readResultSchema } from './result-schema.js';
import { normalizeText } from './schema-keywords.js';
import { makeArguments } from './tool-arguments.js';
import { defaultToolName } from './tool-name.js';
import { type MadeTool, toolWarnings } from './tool-warnings.js';

/** Result of `readTools`. */
export interface ToolsReading {
  readonly tools: readonly DescribedTool[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** Maximum number of tools. More tools are probably unintended. */
const MAX_TOOLS = 2_000;
const LONGEST_DESCRIPTION = 2_000;
const LONGEST_TITLE = 100;
/** Estimated number of characters per token of a language model. */
const CHARACTERS_PER_TOKEN = 4;
/** Matches common names of pagination parameters. */
const PAGING_PARAMETER = new RegExp(
  '^(?:limit|cursor|offset|page|(?:page|per)[_-]?(?:size|token|number|page)|after|before|starting[_-]after|' +
    'max[_-]?results|first|\\$?(?:top|skip))$',
  'i',
);

/**
 * Creates the tools. An operation that cannot be a tool is reported as a problem at its position in the configuration.
 * @param documents OpenAPI documents by service
 * @param unpublished paths of operations that are not published. No argument may lead to these paths.
 */
export function readTools(
  drafts: readonly NumberedDraft[],
  documents: ReadonlyMap<string, JsonObject>,
  unpublished: readonly UnpublishedPath[] = [],
): ToolsReading {
  const maker = new ToolMaker(drafts, documents, unpublished);
  for (const each of drafts) maker.add(each);
  const warnings = toolWarnings(maker.made);
  return { tools: maker.made.map(({ tool }) => tool), problems: maker.problems, warnings };
}

/** ToolMaker creates the tools and collects the problems of operations that cannot be tools. */
class ToolMaker {
  readonly made: MadeTool[] = [];
  readonly problems: ConfigProblem[] = [];
  private readonly byName = new Map<string, MadeTool>();
  private readonly converters = new Map<string, SchemaConverter>();
  /** Segments that would lead to another operation, by API. */
  private readonly reserved = new Map<string | undefined, ReservedSegments>();

  constructor(
    drafts: readonly NumberedDraft[],
    private readonly documents: ReadonlyMap<string, JsonObject>,
    unpublished: readonly UnpublishedPath[],
  ) {
    const paths = Map.groupBy([...drafts.map(({ draft }) => draft), ...unpublished], ({ api }) => api);
    for (const [api, list] of paths) this.reserved.set(api, new ReservedSegments(list.map(({ template }) => template)));
  }

  add({ draft, operation }: NumberedDraft): void {
    const { optIn, problems } = readOptIn(draft);
    this.problems.push(...problems);
    if (optIn === undefined) return;
    const before = this.problems.length;
    const made = this.make(draft, operation, optIn);
    if (this.problems.length > before) return;
    const { name } = made.tool;
    const other = this.byName.get(name);
    if (OWN_NAMES.has(name)) {
      this.report(optIn, `\`${name}\` is a tool of the gateway's own`, 'give it another `name`', 'name');
    } else if (other !== undefined) {
      const { method, template } = other.operation;
      const hint = 'give one of them another `name`';
      this.report(optIn, `a tool \`${name}\` is there already: ${method} ${template}`, hint, 'name');
    } else if (this.made.length === MAX_TOOLS) {
      this.report(optIn, `there are more than ${MAX_TOOLS} tools`, 'an assistant cannot choose among so many');
    } else {
      this.byName.set(name, made);
      this.made.push(made);
    }
  }

  private make(draft: OperationDraft, operation: DescribedOperation, optIn: OptIn): MadeTool {
    const { settings } = optIn;
    const openapi = draft.openapi ?? {};
    const converter = this.converterFor(draft.service);
    if (operation.isWebSocket === true) {
      this.report(optIn, 'a WebSocket cannot be a tool', 'leave it out: a tool has one request and one response');
    }
    if (draft.template.split('/').some(isSegmentPattern)) {
      this.report(optIn, 'a path with a parameter in a part of a segment cannot be a tool', 'leave it out');
    }
    const { parameters, faults, leftOut } = readParameters(draft, converter);
    for (const fault of faults) {
      this.report(optIn, `the parameter ${fault}`, 'the operation requires it, so it cannot be a tool');
    }
    const body = ['GET', 'HEAD'].includes(draft.method) ? undefined : readRequestBody(openapi, converter);
    if (typeof body === 'string') this.report(optIn, body, 'the operation requires it, so it cannot be a tool');
    const result = readResultSchema(openapi, converter, settings.response === 'text');
    const request = {
      template: draft.template,
      parameters,
      body: typeof body === 'string' ? undefined : body,
      accept: result.accept,
      reserved: this.reserved.get(draft.api)?.reservedValues(draft.template) ?? [],
      takesSlashes: draft.takesSlashes === true,
    };
    const made = makeArguments(request, settings);
    for (const { field, at, message, hint } of made.faults) this.report(optIn, message, hint, field, at);
    const fallback = `${draft.method} ${draft.template}`;
    const standard = defaultToolName(draft.id ?? operation.id, fallback);
    const title = settings.title ?? normalizeText(openapi['summary'], LONGEST_TITLE);
    const fullDescription = settings.description ?? openapi['description'] ?? openapi['summary'];
    const description = normalizeText(fullDescription, LONGEST_DESCRIPTION);
    const shown = {
      name: settings.name ?? standard.name,
      ...(title === undefined ? {} : { title }),
      description: description ?? fallback,
      inputSchema: made.inputSchema,
      ...(result.outputSchema === undefined ? {} : { outputSchema: result.outputSchema }),
      annotations: annotationsOf(draft.method, openapi, settings),
    };
    const json = JSON.stringify(shown);
    const tool: DescribedTool = {
      name: shown.name,
      ...(title === undefined ? {} : { title }),
      description: shown.description,
      operation: operation.id,
      annotations: shown.annotations,
      json,
      tokens: Math.ceil(json.length / CHARACTERS_PER_TOKEN),
      pagingArguments: argumentsOf(made.inputSchema).filter((name) => PAGING_PARAMETER.test(name)),
      binding: made.binding,
      hasOutput: result.outputSchema !== undefined,
      wrapsResult: result.wrapsResult,
    };
    const isNameCut = settings.name === undefined && standard.isCut;
    const isDescriptionCut = typeof fullDescription === 'string' && fullDescription.trim().length > LONGEST_DESCRIPTION;
    const isDescribed = description !== undefined;
    return { tool, operation, optIn, isNameCut, isDescriptionCut, isDescribed, hasLeftOut: leftOut.length > 0 };
  }

  private converterFor(service: string): SchemaConverter {
    const known = this.converters.get(service);
    if (known !== undefined) return known;
    const converter = new SchemaConverter(this.documents.get(service) ?? {});
    this.converters.set(service, converter);
    return converter;
  }

  private report(
    { placeOf }: OptIn,
    message: string,
    hint: string,
    field?: 'name' | 'hide' | 'fixed',
    at?: string | number,
  ): void {
    const { source, path } = placeOf(field);
    this.problems.push(source.problem(at === undefined ? path : [...path, at], message, hint, 'key'));
  }
}

function argumentsOf(inputSchema: JsonObject): string[] {
  return Object.keys((inputSchema['properties'] as JsonObject | undefined) ?? {});
}
