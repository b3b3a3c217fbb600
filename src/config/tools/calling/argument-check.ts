/**
 * Validates tool arguments against the tool's input schema (JSON Schema 2020-12), to tell the AI assistant what to fix.
 * This is no security check, because the backend validates requests, so expensive checks are skipped. The schema is
 * interpreted, because compiling a large schema with Ajv would block the process for up to half a second.
 */
import { isExactNumber } from '../../../platform/json/exact-json.js';
import { didYouMean } from '../../model/problem.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import type { ArgumentFault, JsonSchema } from '../tool.js';
import { alternativeFaults } from './alternatives.js';
import { patternOf } from './bounded-pattern.js';
import { type Fault, fieldOf, type Place } from './fault.js';
import { isWrittenInteger, isOfType, valueFaults } from './value-check.js';

const MAX_FAULTS = 10;
/** Maximum number of pairs of value and schema to check. Each pair takes less than a microsecond. */
const MAX_STEPS = 100_000;
/** Maximum nesting of objects and lists in arguments. */
const MAX_DEPTH = 64;
/** Maximum length of lists that are checked for duplicates. */
const MAX_UNIQUE_CHECKED = 10_000;
const NO_FAULTS: readonly ArgumentFault[] = [];
const EMPTY_OBJECT: JsonObject = {};
const NO_MEMBERS: readonly (readonly [string, unknown])[] = [];
const EMPTY_LIST: readonly unknown[] = [];

/**
 * Validates arguments. Never throws.
 * @param args parsed JSON, which is modified unless there are faults. A text of digits becomes an exact integer where
 * the schema allows integers. Null is removed from optional fields that do not allow null, because the strict mode of
 * OpenAI sends null for omitted values.
 * @returns up to ten faults. Empty if the arguments are valid, or if the step limit was reached.
 */
export function checkArguments(args: unknown, inputSchema: JsonSchema): readonly ArgumentFault[] {
  const invalid = invalidInAnySchema(args, MAX_DEPTH);
  if (invalid !== undefined) return [{ field: '', detail: invalid }];
  const check = new Check(inputSchema);
  const faults: Fault[] = [];
  check.check(args, inputSchema, undefined, faults);
  if (faults.length === 0) for (const correction of check.corrections) applyCorrection(args, correction);
  if (check.isOverLimit || faults.length === 0) return NO_FAULTS;
  const distinct = new Map<string, ArgumentFault>();
  for (const { place, detail } of faults) {
    const field = fieldOf(place);
    distinct.set(`${field} ${detail}`, { field, detail });
  }
  return [...distinct.values()].slice(0, MAX_FAULTS);
}

/**
 * Returns why the arguments are invalid under every schema, or undefined. The reason is a phrase that follows "the
 * arguments".
 */
function invalidInAnySchema(value: unknown, depthLeft: number): string | undefined {
  if (isExactNumber(value) && !Number.isFinite(Number(value.rawJSON))) return 'have a number that is too large';
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return undefined;
  if (depthLeft === 0) return `are nested deeper than ${MAX_DEPTH} levels`;
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return 'have the name `__proto__`, which no field has';
    const within = invalidInAnySchema((value as Record<string, unknown>)[key], depthLeft - 1);
    if (within !== undefined) return within;
  }
  return undefined;
}

/** Replacement of a value. Corrections are applied after the check has found no faults. */
interface Correction {
  readonly place: Place;
  /** The new value. Undefined if the value is removed. */
  readonly value: unknown;
}

function applyCorrection(args: unknown, { place, value }: Correction): void {
  const within = valueAt(args, place.within) as Record<string | number, unknown>;
  if (value === undefined) delete within[place.key];
  else within[place.key] = value;
}

function valueAt(args: unknown, place: Place | undefined): unknown {
  return place === undefined ? args : (valueAt(args, place.within) as Record<string | number, unknown>)[place.key];
}

/** Check validates one set of arguments and collects the corrections of their values. */
class Check {
  readonly corrections: Correction[] = [];
  private stepsLeft = MAX_STEPS;
  /**
   * False while the evaluated schema may not apply, for example in `not` or `if`. Values are not corrected in such a
   * schema.
   */
  private mayCorrect = true;

  constructor(private readonly inputSchema: JsonSchema) {}

  /** Whether the step limit was reached. The arguments may be invalid even if no faults were found. */
  get isOverLimit(): boolean {
    return this.stepsLeft < 0;
  }

  private isDone(faults: readonly Fault[]): boolean {
    return this.isOverLimit || faults.length >= MAX_FAULTS;
  }

  /**
   * Adds the faults of a value to `faults`.
   * @param place location of the value; undefined for the arguments as a whole
   */
  check(value: unknown, schema: unknown, place: Place | undefined, faults: Fault[]): void {
    if (schema === false) faults.push({ place, kind: 'other', detail: 'must not be given' });
    if (!isObject(schema) || this.isDone(faults)) return;
    this.stepsLeft--;
    const { $ref: reference } = schema;
    if (typeof reference === 'string') this.check(value, this.definition(reference), place, faults);
    if (place !== undefined && this.mayCorrect && isWrittenInteger(value, schema)) {
      this.corrections.push({ place, value: JSON.rawJSON(value) });
      return valueFaults(Number(value), schema, place, faults, false);
    }
    if (!isOfType(value, schema, place, faults)) return;
    valueFaults(value, schema, place, faults);
    this.checkCombined(value, schema, place, faults);
    if (Array.isArray(value)) this.checkList(value, schema, place, faults);
    else if (isObject(value)) this.checkObject(value, schema, place, faults);
  }

  private definition(reference: string): unknown {
    const name = reference.slice('#/$defs/'.length);
    const definitions = objectOf(this.inputSchema['$defs']);
    return Object.hasOwn(definitions, name) ? definitions[name] : true;
  }

  /**
   * Returns the faults of a value. Keeps corrections only if there are no faults.
   * @param mayCorrect whether the value may be corrected, for example from a text of digits to a number
   */
  private faultsOf(value: unknown, schema: unknown, place: Place | undefined, mayCorrect = false): Fault[] {
    const faults: Fault[] = [];
    const [before, corrections] = [this.mayCorrect, this.corrections.length];
    this.mayCorrect = mayCorrect;
    this.check(value, schema, place, faults);
    this.mayCorrect = before;
    if (faults.length > 0) this.corrections.length = corrections;
    return faults;
  }

  /** Checks `allOf`, `anyOf`, `oneOf`, `not` and `if`, whose schemas concern the same value. */
  private checkCombined(value: unknown, schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
    const { allOf, anyOf, oneOf, not } = schema;
    for (const each of listOf(allOf)) this.check(value, each, place, faults);
    if (anyOf !== undefined) this.checkAlternatives(value, anyOf, place, faults);
    // Authors rarely intend that exactly one alternative matches, so `oneOf` is checked like `anyOf`.
    if (oneOf !== undefined) this.checkAlternatives(value, oneOf, place, faults);
    if (not !== undefined && this.faultsOf(value, not, place).length === 0) {
      faults.push({ place, kind: 'other', detail: 'must not be as it is' });
    }
    if (schema['if'] === undefined) return;
    const next = this.faultsOf(value, schema['if'], place).length === 0 ? schema['then'] : schema['else'];
    this.check(value, next, place, faults);
  }

  private checkAlternatives(value: unknown, alternatives: unknown, place: Place | undefined, faults: Fault[]): void {
    let tried: Fault[][] = [];
    // Prefer an alternative that accepts the value without corrections.
    for (const mayCorrect of this.mayCorrect ? [false, true] : [false]) {
      tried = [];
      for (const each of listOf(alternatives)) {
        tried.push(this.faultsOf(value, each, place, mayCorrect));
        if (tried.at(-1)?.length === 0) return;
      }
    }
    faults.push(...alternativeFaults(tried, place));
  }

  private checkList(list: readonly unknown[], schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
    const { minItems, maxItems, uniqueItems, items, contains, minContains = 1, maxContains } = schema;
    const report = (detail: string): void => void faults.push({ place, kind: 'other', detail });
    if (typeof minItems === 'number' && list.length < minItems) {
      report(minItems === 1 ? 'must not be an empty list' : `must have at least ${minItems} entries`);
    }
    if (typeof maxItems === 'number' && list.length > maxItems) report(`must have at most ${maxItems} entries`);
    if (uniqueItems === true && list.length <= MAX_UNIQUE_CHECKED) {
      const different = new Set(list.map((value) => JSON.stringify(value))).size;
      if (different < list.length) report('must not have the same entry twice');
    }
    const first = listOf(schema['prefixItems']);
    for (const [index, value] of list.entries()) {
      if (this.isDone(faults)) return;
      this.check(value, index < first.length ? first[index] : items, { within: place, key: index }, faults);
    }
    if (contains === undefined) return;
    const found = list.filter((value) => this.faultsOf(value, contains, place).length === 0).length;
    if (typeof minContains === 'number' && found < minContains) report('does not have what it must contain');
    if (typeof maxContains === 'number' && found > maxContains) report(`has more than ${maxContains} such entries`);
  }

  private checkObject(object: JsonObject, schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
    const { minProperties, maxProperties, required, dependentRequired, dependentSchemas } = schema;
    const names = Object.keys(object);
    const report = (detail: string, at = place): void => void faults.push({ place: at, kind: 'other', detail });
    for (const name of listOf(required)) {
      if (!Object.hasOwn(object, name as string)) report('is required', { within: place, key: name as string });
    }
    if (typeof minProperties === 'number' && names.length < minProperties) {
      report(`must have at least ${minProperties} field${minProperties === 1 ? '' : 's'}`);
    }
    if (typeof maxProperties === 'number' && names.length > maxProperties) {
      report(`must have at most ${maxProperties} field${maxProperties === 1 ? '' : 's'}`);
    }
    for (const [name, needed] of membersOf(dependentRequired)) {
      const missing = Object.hasOwn(object, name)
        ? listOf(needed).filter((each) => !Object.hasOwn(object, each as string))
        : [];
      for (const each of missing) report(`is required beside \`${name}\``, { within: place, key: each as string });
    }
    for (const [name, each] of membersOf(dependentSchemas)) {
      if (Object.hasOwn(object, name)) this.check(object, each, place, faults);
    }
    this.checkMembers(object, names, schema, place, faults);
  }

  private checkMembers(
    object: JsonObject,
    names: readonly string[],
    { properties, patternProperties, additionalProperties, propertyNames, required }: JsonObject,
    place: Place | undefined,
    faults: Fault[],
  ): void {
    const known = objectOf(properties);
    const patterns = membersOf(patternProperties);
    for (const name of names) {
      if (this.isDone(faults)) return;
      const at: Place = { within: place, key: name };
      if (propertyNames !== undefined) faults.push(...this.faultsOf(name, propertyNames, at));
      let isKnown = Object.hasOwn(known, name);
      if (isKnown && object[name] === null && !listOf(required).includes(name) && this.isOmitted(known[name], at))
        continue;
      if (isKnown) this.check(object[name], known[name], at, faults);
      for (const [pattern, each] of patterns) {
        const matches = patternOf(pattern).isMatch(name);
        // Assume a match if the pattern is too expensive to check.
        isKnown ||= matches !== false;
        if (matches === true) this.check(object[name], each, at, faults);
      }
      if (isKnown) continue;
      if (additionalProperties === false)
        faults.push({ place: at, kind: 'other', detail: this.unknownDetail(name, place) });
      else this.check(object[name], additionalProperties, at, faults);
    }
  }

  /**
   * Reports whether null in an optional field stands for an omitted value, because the schema does not allow null. If
   * so, records that the field must be removed. Returns false while values must not be corrected.
   */
  private isOmitted(schema: unknown, place: Place): boolean {
    if (!this.mayCorrect || this.faultsOf(null, schema, place).length === 0) return false;
    this.corrections.push({ place, value: undefined });
    return true;
  }

  /** Returns the detail of the fault of a field that the schema does not define. */
  private unknownDetail(name: string, place: Place | undefined): string {
    if (place !== undefined) return 'is not known';
    const meant = didYouMean(name, Object.keys(objectOf(this.inputSchema['properties'])));
    return `is no argument of this tool${meant === undefined ? '' : `: ${meant}`}`;
  }
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : EMPTY_OBJECT;
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : NO_MEMBERS;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : EMPTY_LIST;
}
