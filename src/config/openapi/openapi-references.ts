/** Resolves and checks references within an OpenAPI document. References to other files are not supported. */
import type { JsonObject } from './openapi-traversal.js';
import { isObject, visitObjects } from './openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { didYouMean } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';

/** Maximum number of references in a chain. */
const MAX_CHAIN_LENGTH = 32;
const BUNDLE_HINT = 'bundle the document into one file; references must begin with #/';

/**
 * Resolves a local reference, including a chain of references. Returns other values unchanged. Returns undefined if the
 * target does not exist, or if the chain is circular or too long.
 */
export function resolveReference(document: JsonObject, value: unknown): unknown {
  let current = value;
  for (let hops = 0; isObject(current) && typeof current['$ref'] === 'string'; hops++) {
    if (hops === MAX_CHAIN_LENGTH) return undefined;
    current = lookUpReference(document, current['$ref']);
  }
  return current;
}

/** Splits a JSON Pointer (RFC 6901) into unescaped keys. */
export function pointerPath(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Encodes braces in references to path templates, such as `#/paths/~1pets~1{id}`. URIs cannot contain braces (RFC
 * 3986), but many documents contain such references. Modifies the document.
 */
export function encodeReferences(document: JsonObject): void {
  visitObjects(document, (object) => {
    const { $ref: reference } = object;
    if (typeof reference !== 'string' || !/^#.*[{}]/.test(reference)) return;
    (object as Record<string, unknown>)['$ref'] = reference.replaceAll('{', '%7B').replaceAll('}', '%7D');
  });
}

/**
 * Returns a problem for each reference that is external, circular, too long a chain, without a target, or no parameter
 * where the document needs one.
 */
export function referenceProblems(document: JsonObject, source: SourceDocument): ConfigProblem[] {
  const anchors = anchorsOf(document);
  const problems: ConfigProblem[] = [];
  visitObjects(document, (object, path) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string') return;
    const fault =
      formFault(document, reference, anchors) ??
      chainFault(document, reference, object) ??
      parameterFault(document, object, path);
    if (fault === undefined) return;
    problems.push(source.problem([...path, '$ref'], `\`${shortened(reference)}\` ${fault.message}`, fault.hint));
  });
  return problems;
}

/**
 * Removes the entries of `discriminator.mapping` whose target does not exist, and returns one warning for all of them.
 * Bundlers often leave references to the original files in this map. No schema is lost, only a name of a schema.
 * Modifies the document.
 */
export function removeLostMappings(document: JsonObject, source: SourceDocument): ConfigProblem[] {
  const anchors = anchorsOf(document);
  const schemaNames = namesOfSchemas(document);
  const removed: { path: DocumentPath; target: string; fault: ReferenceFault }[] = [];
  visitObjects(document, ({ propertyName, mapping }, path) => {
    if (typeof propertyName !== 'string' || !isObject(mapping)) return;
    for (const [name, target] of Object.entries(mapping)) {
      // Keep plain names. They name schemas, which may be known only to the backend.
      const mayBeLost = typeof target === 'string' && /[/#.]/.test(target) && !schemaNames.has(target);
      const fault = mayBeLost && formFault(document, target, anchors);
      if (!fault) continue;
      delete (mapping as Record<string, unknown>)[name];
      removed.push({ path: [...path, 'mapping', name], target: String(target), fault });
    }
  });
  const [first] = removed;
  if (first === undefined) return [];
  const more = removed.length === 1 ? '' : `; ${removed.length - 1} more like it`;
  const message = `\`${shortened(first.target)}\` ${first.fault.message}, so the entry is left out${more}`;
  return [source.problem(first.path, message, first.fault.hint)];
}

/** Returns the names under `components.schemas`. These names may contain dots. */
function namesOfSchemas({ components }: JsonObject): ReadonlySet<string> {
  const schemas = isObject(components) ? components['schemas'] : undefined;
  return new Set(isObject(schemas) ? Object.keys(schemas) : []);
}

interface ReferenceFault {
  /** Phrase that follows the reference in the message. */
  readonly message: string;
  readonly hint: string;
}

/** Returns the fault of a reference that is external or has no target. Undefined if there is no fault. */
function formFault(document: JsonObject, reference: string, anchors: ReadonlySet<string>): ReferenceFault | undefined {
  if (!reference.startsWith('#')) {
    const message = /^[a-z][a-z0-9+.-]*:\/\//i.test(reference)
      ? 'is a URL; remote references are not supported'
      : 'leads outside of this document';
    return { message, hint: BUNDLE_HINT };
  }
  if (!reference.startsWith('#/')) {
    if (reference === '#' || anchors.has(reference.slice(1))) return undefined;
    return { message: 'names nothing in this document', hint: `references begin with #/, or name an $anchor` };
  }
  if (lookUpReference(document, reference) !== undefined) return undefined;
  return {
    message: 'names nothing in this document',
    hint: nearest(document, reference) ?? 'describe it, or name what is meant',
  };
}

/** Returns the fault of a chain of references that is circular or too long. Undefined if there is no fault. */
function chainFault(document: JsonObject, reference: string, start: JsonObject): ReferenceFault | undefined {
  const hint = 'one of the references must give way to the description itself';
  const seen = new Set<unknown>();
  let current = lookUpReference(document, reference);
  while (isObject(current) && typeof current['$ref'] === 'string') {
    if (current === start) return { message: 'leads back to itself', hint };
    if (seen.has(current)) return { message: 'leads to references that lead back to themselves', hint };
    if (seen.add(current).size === MAX_CHAIN_LENGTH)
      return { message: `is a chain of more than ${MAX_CHAIN_LENGTH} references`, hint };
    current = lookUpReference(document, current['$ref']);
  }
  return undefined;
}

/** Returns the fault of a reference in `parameters` whose target is not a parameter. Undefined if there is no fault. */
function parameterFault(document: JsonObject, object: JsonObject, path: DocumentPath): ReferenceFault | undefined {
  if (path.at(-2) !== 'parameters' || typeof path.at(-1) !== 'number') return undefined;
  const target = resolveReference(document, object);
  if (isObject(target) && typeof target['name'] === 'string' && typeof target['in'] === 'string') return undefined;
  return { message: 'names no parameter', hint: 'a parameter has `name` and `in`: see components.parameters' };
}

/** Suggests an existing sibling of the missing target. Returns undefined if no sibling has a similar name. */
function nearest(document: JsonObject, reference: string): string | undefined {
  const lastSlash = reference.lastIndexOf('/');
  const [parent, name] = [reference.slice(0, lastSlash), reference.slice(lastSlash + 1)];
  const siblings = lastSlash === 1 ? document : lookUpReference(document, parent);
  return isObject(siblings) ? didYouMean(name, Object.keys(siblings)) : undefined;
}

function anchorsOf(document: JsonObject): Set<string> {
  const anchors = new Set<string>();
  visitObjects(document, (object) => {
    for (const key of ['$anchor', '$dynamicAnchor']) if (typeof object[key] === 'string') anchors.add(object[key]);
  });
  return anchors;
}

/**
 * Returns the target of a local reference, which may be another reference. Returns undefined if the target does not
 * exist.
 */
export function lookUpReference(document: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  return pointerPath(safeDecode(reference.slice(1))).reduce<unknown>(
    (node, part) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, part) ? node[part as never] : undefined,
    document,
  );
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
