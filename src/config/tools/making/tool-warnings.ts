/** Warns about tools that are valid, but that assistants will use poorly. */
import type { DescribedTool } from '../../model/described-tool.js';
import type { Operation } from '../../model/schema.js';
import type { ConfigProblem } from '../../model/problem.js';
import type { OptIn } from './opt-in.js';
import { MAX_LISTED } from '../tool.js';

/** A tool with its operation and the facts that warnings need. */
export interface MadeTool {
  readonly tool: DescribedTool;
  readonly operation: Operation;
  readonly optIn: OptIn;
  readonly isDescribed: boolean;
  readonly isNameCut: boolean;
  readonly isDescriptionCut: boolean;
  /** Whether the operation has an optional parameter that the tool cannot send, such as a cookie. */
  readonly hasLeftOut: boolean;
}

const SHORTEST_DESCRIPTION = 20;
const MAX_TOKENS = 3_000;
/** Maximum number of tools that a warning names. */
const MAX_NAMED = 3;

/** Returns one warning per kind and file, located at the first affected tool of the file. */
export function toolWarnings(made: readonly MadeTool[]): ConfigProblem[] {
  const warn = (isAffected: (each: MadeTool) => boolean, message: (names: string) => string, hint: string) =>
    perFile(made.filter(isAffected)).map(([first, names]) => {
      const { source, path } = first.optIn.placeOf();
      return source.problem(path, message(names), hint, 'key');
    });
  const isPoor = ({ tool: { name, description } }: MadeTool): boolean =>
    description.length < SHORTEST_DESCRIPTION || simplified(description) === simplified(name);
  const describe = 'say what it does and when to use it: that is all an assistant chooses by';
  const [first] = made;
  const many = made.length > MAX_LISTED ? [first].flatMap((each) => (each === undefined ? [] : [each])) : [];
  return [
    ...warn(
      (each) => !each.isDescribed,
      (names) => `no description: ${names}`,
      describe,
    ),
    ...warn(
      (each) => each.isDescribed && isPoor(each),
      (names) => `a description that says too little: ${names}`,
      describe,
    ),
    ...warn(
      ({ tool }) => tool.tokens > MAX_TOKENS,
      (names) => `more than ${MAX_TOKENS} tokens (a quarter of the characters): ${names}`,
      'hide parameters that assistants do not need, or say `response: text`',
    ),
    ...warn(
      (each) => each.isNameCut,
      (names) => `the operationId is cut to make a name: ${names}`,
      'give it a `name` of up to 40 characters',
    ),
    ...warn(
      (each) => each.hasLeftOut,
      (names) =>
        `an optional parameter is a cookie, or a header or style that no tool can send; it is left out: ${names}`,
      'nothing to do where assistants do without it',
    ),
    ...warn(
      (each) => each.isDescriptionCut,
      (names) => `the description is cut at 2,000 characters: ${names}`,
      'give the tool a `description` of its own',
    ),
    ...many.map(({ optIn }) => {
      const { source, path } = optIn.placeOf();
      const message = `there are ${made.length} tools: past ${MAX_LISTED}, assistants search them, and do not see all`;
      return source.problem(path, message, 'fewer tools, for tasks rather than for operations, are used better', 'key');
    }),
  ];
}

function perFile(made: readonly MadeTool[]): [MadeTool, string][] {
  const byFile = Map.groupBy(made, ({ optIn }) => optIn.placeOf().source.file);
  return [...byFile.values()].flatMap((group): [MadeTool, string][] => {
    const [first] = group;
    if (first === undefined) return [];
    const names = group.slice(0, MAX_NAMED).map(({ tool }) => `\`${tool.name}\``);
    const others = group.length > MAX_NAMED ? ` and ${group.length - MAX_NAMED} more` : '';
    return [[first, `${names.join(', ')}${others}`]];
  });
}

function simplified(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}
