/**
 * A configuration on its way from one process to another, in parts. Taking one in is done in well under a millisecond,
 * so that a process which serves requests can take a large configuration in between them.
 */
import type { ApiDescription, SerialisedDocument } from './api-description.js';
import type { DescribedTool } from './model/described-tool.js';
import type { Config, Environment, EventType, GatewayFile, Operation, ScopeWords } from './model/schema.js';

const OPERATIONS_PER_PART = 100;
/** Each has words in several languages. */
const SCOPES_PER_PART = 25;
/** Of the tools' JSON; a tool is sent whole. */
const TOOL_CHARACTERS_PER_PART = 48 * 1024;
const BYTES_PER_PART = 48 * 1024;

type Documents = { readonly [Name in keyof ApiDescription]: Omit<SerialisedDocument, 'body'> & { bytes: number } };

/** Plain data, so that it can be sent as JSON. The head is the first one. */
export type ConfigPart =
  | {
      readonly kind: 'head';
      readonly file: GatewayFile;
      readonly path: string;
      readonly publicUrl: string;
      readonly eventTypes: readonly EventType[];
      /** How many operations will come. */
      readonly operations: number;
      /** How many scopes with words will come. */
      readonly scopes: number;
      /** How many tools will come. */
      readonly tools: number;
      /** What bodies will come. */
      readonly documents: Documents | null;
    }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[] }
  | { readonly kind: 'scopes'; readonly scopes: readonly (readonly [string, ScopeWords])[] }
  | { readonly kind: 'tools'; readonly tools: readonly DescribedTool[] }
  | { readonly kind: 'body'; readonly of: keyof ApiDescription; readonly base64: string };

/** What a receiver makes of the parts. */
export interface ReceivedConfig {
  readonly config: Config;
  readonly description: ApiDescription | undefined;
}

/**
 * The parts of a configuration, each made when it is asked for. The entries of
 * `operations` in the file do not come along.
 */
export function* partsOf(config: Config, description: ApiDescription | undefined): Generator<ConfigPart, void> {
  const { file, path, publicUrl, operations, eventTypes = [], tools = [] } = config;
  const scopes = [...(config.scopeWords ?? [])];
  yield {
    kind: 'head',
    // They have become the operations.
    file: { ...file, operations: [] },
    path,
    publicUrl,
    eventTypes,
    operations: operations.length,
    scopes: scopes.length,
    tools: tools.length,
    documents: description === undefined ? null : documentsOf(description),
  };
  for (let from = 0; from < operations.length; from += OPERATIONS_PER_PART) {
    yield { kind: 'operations', operations: operations.slice(from, from + OPERATIONS_PER_PART) };
  }
  for (let from = 0; from < scopes.length; from += SCOPES_PER_PART) {
    yield { kind: 'scopes', scopes: scopes.slice(from, from + SCOPES_PER_PART) };
  }
  for (const part of toolParts(tools)) yield { kind: 'tools', tools: part };
  for (const [of, document] of Object.entries(description ?? {}) as [keyof ApiDescription, SerialisedDocument][]) {
    for (let from = 0; from < document.body.length; from += BYTES_PER_PART) {
      yield { kind: 'body', of, base64: document.body.toString('base64', from, from + BYTES_PER_PART) };
    }
  }
}

function* toolParts(tools: readonly DescribedTool[]): Generator<readonly DescribedTool[], void> {
  let part: DescribedTool[] = [];
  let characters = 0;
  for (const tool of tools) {
    part.push(tool);
    characters += tool.json.length;
    if (characters < TOOL_CHARACTERS_PER_PART) continue;
    yield part;
    [part, characters] = [[], 0];
  }
  if (part.length > 0) yield part;
}

/** Puts the parts together again, as they come. */
export class ConfigReceiver {
  private head: Extract<ConfigPart, { kind: 'head' }> | undefined;
  private readonly operations: Operation[] = [];
  private readonly tools: DescribedTool[] = [];
  private readonly scopeWords = new Map<string, ScopeWords>();
  private readonly bodies = new Map<keyof ApiDescription, Body>();

  /** @param environment of this process: it differs from the sender's in its port. */
  constructor(private readonly environment: Environment) {}

  /** Takes the next part in. @returns the whole with the last one, undefined until then. */
  take(part: ConfigPart): ReceivedConfig | undefined {
    if (part.kind === 'head') {
      this.head = part;
      for (const [of, { bytes }] of Object.entries(part.documents ?? {}) as [keyof ApiDescription, { bytes: number }][])
        this.bodies.set(of, new Body(bytes));
    } else if (part.kind === 'operations') this.operations.push(...part.operations);
    else if (part.kind === 'tools') this.tools.push(...part.tools);
    else if (part.kind === 'scopes') for (const [scope, words] of part.scopes) this.scopeWords.set(scope, words);
    else this.bodies.get(part.of)?.add(part.base64);
    return this.whole();
  }

  private whole(): ReceivedConfig | undefined {
    const { head, operations, tools, scopeWords, environment, bodies } = this;
    if (head === undefined || operations.length < head.operations) return undefined;
    if (scopeWords.size < head.scopes || tools.length < head.tools) return undefined;
    for (const body of bodies.values()) if (!body.isWhole) return undefined;
    const { file, path, publicUrl, documents, eventTypes } = head;
    return {
      config: { file, path, publicUrl, operations, tools, scopeWords, eventTypes, environment },
      description: documents === null ? undefined : this.descriptionOf(documents),
    };
  }

  private descriptionOf({ document, deprecated }: Documents): ApiDescription {
    const whole = (of: keyof ApiDescription, { publicUrl, etag }: Omit<SerialisedDocument, 'body'>) => ({
      publicUrl,
      etag,
      body: this.bodies.get(of)?.bytes ?? Buffer.alloc(0),
    });
    return {
      document: whole('document', document),
      ...(deprecated === undefined ? {} : { deprecated: whole('deprecated', deprecated) }),
    };
  }
}

/** A body of known length that comes in pieces. */
class Body {
  readonly bytes: Buffer;
  private filled = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  get isWhole(): boolean {
    return this.filled === this.bytes.length;
  }

  add(base64: string): void {
    this.filled += this.bytes.write(base64, this.filled, 'base64');
  }
}

function documentsOf({ document, deprecated }: ApiDescription): Documents {
  const head = ({ publicUrl, etag, body }: SerialisedDocument) => ({ publicUrl, etag, bytes: body.length });
  return { document: head(document), ...(deprecated === undefined ? {} : { deprecated: head(deprecated) }) };
}
