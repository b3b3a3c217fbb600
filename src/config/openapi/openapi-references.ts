/** References within an OpenAPI document: what they name, and whether they can be followed. */
import type { JsonObject } from './openapi-traversal.js';
import { isObject, visitObjects } from './openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { didYouMean } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';

/** A reference to a reference to a reference …: more of them are a mistake. */
const MOST_HOPS = 32;
const BUNDLE_HINT = 'bundle the document into one file; references must begin with #/';

/** The part of a document that a local reference names; undefined where there is none. Follows chains, not circles. */
export function resolveReference(document: JsonObject, value: unknown): unknown {
  let current = value;
  for (let hops = 0; isObject(current) && typeof current['$ref'] === 'string'; hops++) {
    if (hops === MOST_HOPS) return undefined;
    current = lookUpReference(document, current['$ref']);
  }
  return current;
}

/** A JSON Pointer (RFC 6901) as a list of keys. */
export function pointerPath(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Encodes the braces of references to path templates, such as `#/paths/~1pets~1{id}`. No URI has them raw (RFC 3986),
 * but most who write such a reference do, and there is only one reading. Changes the document.
 */
export function encodeReferences(document: JsonObject): void {
  visitObjects(document, (object) => {
    const { $ref: reference } = object;
    if (typeof reference !== 'string' || !/^#.*[{}]/.test(reference)) return;
    (object as Record<string, unknown>)['$ref'] = reference.replaceAll('{', '%7B').replaceAll('}', '%7D');
  });
}

/** Every reference that leads nowhere, outside, or back to itself. */
export function referenceProblems(document: JsonObject, source: SourceDocument): ConfigProblem[] {
  const anchors = anchorsOf(document);
  const problems: ConfigProblem[] = [];
  const check = (reference: string, path: DocumentPath, object?: JsonObject): void => {
    const fault =
      formFault(document, reference, anchors) ??
      (object && (chainFault(document, reference, object) ?? parameterFault(document, object, path)));
    if (fault !== undefined)
      problems.push(source.problem(path, `\`${shortened(reference)}\` ${fault.message}`, fault.hint));
  };
  visitObjects(document, (object, path) => {
    if (typeof object['$ref'] === 'string') check(object['$ref'], [...path, '$ref'], object);
    const { propertyName, mapping } = object;
    if (typeof propertyName !== 'string' || !isObject(mapping)) return;
    for (const [name, target] of Object.entries(mapping)) {
      // A bare name is that of a schema, and may be one that only the backend knows.
      if (typeof target === 'string' && /[/#.]/.test(target)) check(target, [...path, 'mapping', name]);
    }
  });
  return problems;
}

interface ReferenceFault {
  /** Goes behind the reference. */
  readonly message: string;
  readonly hint: string;
}

function formFault(document: JsonObject, reference: string, anchors: ReadonlySet<string>): ReferenceFault | undefined {
  if (!reference.startsWith('#')) {
    const message = /^[a-z][a-z0-9+.-]*:\/\//i.test(reference)
      ? 'is a URL, and none is asked for'
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

/** A chain of references that comes back to where it began describes nothing. */
function chainFault(document: JsonObject, reference: string, begin: JsonObject): ReferenceFault | undefined {
  const hint = 'one of the references must give way to the description itself';
  const seen = new Set<unknown>();
  let current = lookUpReference(document, reference);
  while (isObject(current) && typeof current['$ref'] === 'string') {
    if (current === begin) return { message: 'leads back to itself', hint };
    if (seen.has(current)) return { message: 'leads to references that lead back to themselves', hint };
    if (seen.add(current).size === MOST_HOPS)
      return { message: `leads on over more than ${MOST_HOPS} references`, hint };
    current = lookUpReference(document, current['$ref']);
  }
  return undefined;
}

/** A parameter that is something else could not be described. */
function parameterFault(document: JsonObject, object: JsonObject, path: DocumentPath): ReferenceFault | undefined {
  if (path.at(-3) !== 'parameters' || typeof path.at(-2) !== 'number') return undefined;
  const target = resolveReference(document, object);
  if (isObject(target) && typeof target['name'] === 'string' && typeof target['in'] === 'string') return undefined;
  return { message: 'names no parameter', hint: 'a parameter has `name` and `in`: see components.parameters' };
}

/** The neighbour that a reference with a slip of the pen may mean. */
function nearest(document: JsonObject, reference: string): string | undefined {
  const cut = reference.lastIndexOf('/');
  const [parent, name] = [reference.slice(0, cut), reference.slice(cut + 1)];
  const siblings = cut === 1 ? document : lookUpReference(document, parent);
  return isObject(siblings) ? didYouMean(name, Object.keys(siblings)) : undefined;
}

function anchorsOf(document: JsonObject): Set<string> {
  const anchors = new Set<string>();
  visitObjects(document, (object) => {
    for (const key of ['$anchor', '$dynamicAnchor']) if (typeof object[key] === 'string') anchors.add(object[key]);
  });
  return anchors;
}

/** What a local reference names itself; undefined where there is nothing. */
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
