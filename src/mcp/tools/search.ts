/**
 * Finds tools by words: in their names first, then in titles and paths, then in descriptions. Says of the best ones what
 * arguments they take, and of the others their names, within 1,500 tokens.
 */
import type { Tool } from '../../config/tools/tool.js';

const WORD = /[\p{L}\p{N}]+/gu;
/** Scores of a word by the place where it is found; half of that where only one of the two begins the other. */
const NAME_WORTH = 8;
const TITLE_WORTH = 4;
const PATH_WORTH = 4;
const DESCRIPTION_WORTH = 2;
/** Takes points off for each word of the name that was not asked for: `create issue` means `create_issue`, not `create_issue_label`. */
const EXTRA_WORD_COST = 1;
/** A tool fits where more than this share of the words is found in it. */
const LEAST_SHARE = 2 / 3;
/** 1,500 tokens of about four characters each. */
const MOST_CHARACTERS = 6_000;
/** Tools whose arguments are told; the assistant looks further for those of the others. */
const MOST_WITH_SCHEMA = 2;
const LONGEST_DESCRIPTION = 200;

/** Words that say nothing about an operation. */
const FILLERS = new Set('a all an and by for from in is me my of on or please the to with'.split(' '));
/** Maps words that people use to those that APIs use. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['add', 'create'],
  ['change', 'update'],
  ['edit', 'update'],
  ['fetch', 'get'],
  ['find', 'list'],
  ['modify', 'update'],
  ['new', 'create'],
  ['read', 'get'],
  ['remove', 'delete'],
  ['show', 'get'],
]);

interface Indexed {
  readonly name: readonly string[];
  readonly title: readonly string[];
  readonly path: readonly string[];
  readonly description: readonly string[];
}

const indexes = new WeakMap<Tool, Indexed>();

/** Returns the tools that fit, best first; of equal ones the first in the configuration. */
export function foundTools(tools: readonly Tool[], query: string, most: number): readonly Tool[] {
  const all = wordsOf(query);
  const meant = all.filter((word) => !FILLERS.has(word));
  const words = meant.length === 0 ? all : meant;
  return tools
    .map((tool, at) => ({ tool, at, worth: worthOf(indexOf(tool), words) }))
    .filter(({ worth }) => worth > 0)
    .toSorted((a, b) => b.worth - a.worth || a.at - b.at)
    .slice(0, most)
    .map(({ tool }) => tool);
}

/** Returns what an assistant is told of tools that were found, as JSON. @param found best first. */
export function foundText(found: readonly Tool[]): string {
  const told: string[] = [];
  let left = MOST_CHARACTERS - '{"operations":[]}'.length;
  for (const [index, tool] of found.entries()) {
    const texts = index < MOST_WITH_SCHEMA ? [withSchema(tool), withArguments(tool), named(tool)] : [named(tool)];
    const text = texts.find(({ length }) => length < left);
    if (text === undefined) break;
    told.push(text);
    left -= text.length + 1;
  }
  return `{"operations":[${told.join(',')}]}`;
}

/** Returns the names of all tools that there is room for: what is told where nothing was found. */
export function allNamesText(tools: readonly Tool[]): string {
  let left = MOST_CHARACTERS - '{"operations":[],"all_names":[]}'.length;
  const names = tools.map(({ name }) => name).filter((name) => (left -= name.length + 3) >= 0);
  return JSON.stringify({ operations: [], all_names: names });
}

function withSchema({ name, title, description, inputSchema }: Tool): string {
  return JSON.stringify({ name, title, description, inputSchema });
}

/** The arguments of a tool whose schema is too long: what is wrong with them is told when it is called. */
function withArguments({ name, title, description, inputSchema }: Tool): string {
  const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: readonly string[] };
  return JSON.stringify({ name, title, description: short(description), arguments: Object.keys(properties), required });
}

function named({ name, title, description }: Tool): string {
  return JSON.stringify(title === undefined ? { name, description: short(description) } : { name, title });
}

function short(text: string): string {
  return text.length <= LONGEST_DESCRIPTION ? text : `${text.slice(0, LONGEST_DESCRIPTION - 1).toWellFormed()}…`;
}

function worthOf({ name, title, path, description }: Indexed, words: readonly string[]): number {
  let [worth, matched] = [0, 0];
  const asked = new Set<string>();
  for (const said of words) {
    const word = SYNONYMS.has(said) && share(name, said) === 0 ? SYNONYMS.get(said)! : said;
    asked.add(word);
    const own =
      NAME_WORTH * share(name, word) +
      TITLE_WORTH * share(title, word) +
      PATH_WORTH * share(path, word) +
      DESCRIPTION_WORTH * Math.max(share(description, word), share(description, said));
    worth += own;
    if (own > 0) matched++;
  }
  if (matched <= LEAST_SHARE * words.length) return 0;
  const extra = name.filter((word) => share([...asked], word) === 0).length;
  return Math.max(worth - EXTRA_WORD_COST * extra, Number.EPSILON);
}

/** 1 where the word stands there, half where it begins another one, or another begins it: `customer`, `customers`. */
function share(texts: readonly string[], word: string): number {
  if (texts.includes(word)) return 1;
  return texts.some((text) => text.startsWith(word) || (text.length > 2 && word.startsWith(text))) ? 1 / 2 : 0;
}

function indexOf(tool: Tool): Indexed {
  let index = indexes.get(tool);
  if (index === undefined) {
    const { name, title = '', description, operation } = tool;
    index = {
      name: wordsOf(name),
      title: wordsOf(title),
      path: wordsOf(`${operation.method} ${operation.template}`),
      description: wordsOf(description),
    };
    indexes.set(tool, index);
  }
  return index;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().replaceAll('_', ' ').match(WORD) ?? [];
}
