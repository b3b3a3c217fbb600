/**
 * Splits a configuration into parts for transfer between processes, and reassembles the parts. A process receives a
 * part in less than a millisecond, so it can serve requests between two parts.
 */
import type { ApiDescription, SerializedDocument } from './api-description.js';
import type { DescribedTool } from './model/described-tool.js';
import type {
  Config,
  Environment,
  EventType,
  GatewayFile,
  Operation,
  ScopeWords,
  UnpublishedPath,
} from './model/schema.js';

const OPERATIONS_PER_PART = 100;
/** Smaller than `OPERATIONS_PER_PART`, because a scope has descriptions in several languages. */
const SCOPES_PER_PART = 25;
/** Number of characters of tool JSON after which a part ends. A tool is never split. */
const TOOL_CHARACTERS_PER_PART = 48 * 1024;
const BYTES_PER_PART = 48 * 1024;

type DocumentKind = keyof ApiDescription;
type DocumentHead = Omit<SerializedDocument, 'body'> & { readonly bytes: number };
type DocumentHeads = Readonly<Record<'document', DocumentHead> & Partial<Record<'deprecated', DocumentHead>>>;

/** ConfigPart is a part as plain data, which can be sent as JSON. The part of kind `head` comes first. */
export type ConfigPart =
  | {
      readonly kind: 'head';
      readonly file: GatewayFile;
      readonly path: string;
      readonly publicUrl: string;
      readonly eventTypes: readonly EventType[];
      /** Number of unpublished paths that follow. */
      readonly unpublished: number;
      /** Number of operations that follow. */
      readonly operations: number;
      /** Number of scopes that follow. */
      readonly scopes: number;
      /** Number of tools that follow. */
      readonly tools: number;
      /**
       * Metadata of the documents of each API. `body` parts contain the texts of the documents. Null if the receiver
       * serves no documents.
       */
      readonly documents: readonly DocumentHeads[] | null;
    }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[] }
  | { readonly kind: 'unpublished'; readonly paths: readonly UnpublishedPath[] }
  | { readonly kind: 'scopes'; readonly scopes: readonly (readonly [string, ScopeWords])[] }
  | { readonly kind: 'tools'; readonly tools: readonly DescribedTool[] }
  | { readonly kind: 'body'; readonly api: number; readonly of: DocumentKind; readonly base64: string };

/** The configuration that `ConfigReceiver` has reassembled. */
export interface ReceivedConfig {
  readonly config: Config;
  /** Documents of each API. Undefined if the sender had no documents. */
  readonly description: readonly ApiDescription[] | undefined;
}

/**
 * Generates the parts of a configuration on demand.
 * @param description public documents of each API; undefined if the receiver serves no documents
 */
export function* partsOf(
  config: Config,
  description: readonly ApiDescription[] | undefined,
): Generator<ConfigPart, void> {
  const { file, path, publicUrl, operations, unpublished, eventTypes = [], tools = [] } = config;
  const scopes = [...(config.scopeWords ?? [])];
  yield {
    kind: 'head',
    // The list of operations already includes the `operations` entries of the file.
    file: { ...file, operations: [] },
    path,
    publicUrl,
    eventTypes,
    unpublished: unpublished.length,
    operations: operations.length,
    scopes: scopes.length,
    tools: tools.length,
    documents: description?.map(documentsOf) ?? null,
  };
  for (let from = 0; from < operations.length; from += OPERATIONS_PER_PART) {
    yield { kind: 'operations', operations: operations.slice(from, from + OPERATIONS_PER_PART) };
  }
  for (let from = 0; from < unpublished.length; from += OPERATIONS_PER_PART) {
    yield { kind: 'unpublished', paths: unpublished.slice(from, from + OPERATIONS_PER_PART) };
  }
  for (let from = 0; from < scopes.length; from += SCOPES_PER_PART) {
    yield { kind: 'scopes', scopes: scopes.slice(from, from + SCOPES_PER_PART) };
  }
  for (const part of toolParts(tools)) yield { kind: 'tools', tools: part };
  for (const [api, documents] of (description ?? []).entries()) {
    for (const [of, { body }] of Object.entries(documents) as [DocumentKind, SerializedDocument][]) {
      for (let from = 0; from < body.length; from += BYTES_PER_PART) {
        yield { kind: 'body', api, of, base64: body.toString('base64', from, from + BYTES_PER_PART) };
      }
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

/** ConfigReceiver reassembles a configuration from its parts. */
export class ConfigReceiver {
  private head: Extract<ConfigPart, { kind: 'head' }> | undefined;
  private readonly operations: Operation[] = [];
  private readonly unpublished: UnpublishedPath[] = [];
  private readonly tools: DescribedTool[] = [];
  private readonly scopeWords = new Map<string, ScopeWords>();
  private readonly bodies = new Map<string, Body>();

  /** @param environment environment of this process, whose ports can differ from the sender's */
  constructor(private readonly environment: Environment) {}

  /**
   * Adds the next part.
   * @returns the configuration after the last part, and undefined after every other part
   */
  addPart(part: ConfigPart): ReceivedConfig | undefined {
    if (part.kind === 'head') {
      this.head = part;
      for (const [api, documents] of (part.documents ?? []).entries())
        for (const [of, { bytes }] of Object.entries(documents)) this.bodies.set(`${api} ${of}`, new Body(bytes));
    } else if (part.kind === 'operations') this.operations.push(...part.operations);
    else if (part.kind === 'unpublished') this.unpublished.push(...part.paths);
    else if (part.kind === 'tools') this.tools.push(...part.tools);
    else if (part.kind === 'scopes') for (const [scope, words] of part.scopes) this.scopeWords.set(scope, words);
    else this.bodies.get(`${part.api} ${part.of}`)?.add(part.base64);
    return this.assemble();
  }

  /** Returns the configuration if all parts have arrived. */
  private assemble(): ReceivedConfig | undefined {
    const { head, operations, unpublished, tools, scopeWords, environment, bodies } = this;
    if (head === undefined || operations.length < head.operations) return undefined;
    if (unpublished.length < head.unpublished) return undefined;
    if (scopeWords.size < head.scopes || tools.length < head.tools) return undefined;
    for (const body of bodies.values()) if (!body.isComplete) return undefined;
    const { file, path, publicUrl, documents, eventTypes } = head;
    return {
      config: { file, path, publicUrl, operations, unpublished, tools, scopeWords, eventTypes, environment },
      description: documents?.map((each, api) => this.descriptionOf(each, api)),
    };
  }

  private descriptionOf({ document, deprecated }: DocumentHeads, api: number): ApiDescription {
    const assembled = (of: DocumentKind, { publicUrl, etag }: Omit<SerializedDocument, 'body'>) => ({
      publicUrl,
      etag,
      body: this.bodies.get(`${api} ${of}`)?.bytes ?? Buffer.alloc(0),
    });
    return {
      document: assembled('document', document),
      ...(deprecated === undefined ? {} : { deprecated: assembled('deprecated', deprecated) }),
    };
  }
}

/** Body collects a document body of known length from its pieces. */
class Body {
  readonly bytes: Buffer;
  private filled = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  get isComplete(): boolean {
    return this.filled === this.bytes.length;
  }

  add(base64: string): void {
    this.filled += this.bytes.write(base64, this.filled, 'base64');
  }
}

function documentsOf({ document, deprecated }: ApiDescription): DocumentHeads {
  const head = ({ publicUrl, etag, body }: SerializedDocument) => ({ publicUrl, etag, bytes: body.length });
  return { document: head(document), ...(deprecated === undefined ? {} : { deprecated: head(deprecated) }) };
}
