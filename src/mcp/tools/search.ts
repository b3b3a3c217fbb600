/**
 * Full-text search of tools: names first, then titles and paths, then descriptions. The result has the arguments of the
 * best matches and the names of the others, in at most 1,500 tokens.
 */
import type { Tool } from '../../config/tools/tool.js';

const WORD = /[\p{L}\p{N}]+/gu;
/** Scores of a word by field. A prefix match scores half. */
const NAME_WORTH = 8;
const TITLE_WORTH = 4;
const PATH_WORTH = 4;
const DESCRIPTION_WORTH = 2;
/**
 * Penalty for each word of the name that is not in the query, so that `create issue` finds `create_issue` before
 * `create_issue_label`.
 */
const EXTRA_WORD_COST = 1;
/** Minimum share of query words that must match. */
const LEAST_SHARE = 2 / 3;
/** 1,500 tokens of about four characters each. */
const MOST_CHARACTERS = 6_000;
/** Number of matches with full arguments. */
const MOST_WITH_SCHEMA = 2;
const LONGEST_DESCRIPTION = 200;

/** Stop words. */
const FILLERS = new Set('a all an and by for from in is me my of on or please the to with'.split(' '));
/** Common words and their equivalents in APIs. */
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

/** Returns the matching tools, best first. Equal scores keep the configuration order. */
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

/** Formats matches as JSON for the assistant. @param found best first */
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

/** Returns as many tool names as fit, for a search without matches. */
export function allNamesText(tools: readonly Tool[]): string {
  let left = MOST_CHARACTERS - '{"operations":[],"all_names":[]}'.length;
  const names = tools.map(({ name }) => name).filter((name) => (left -= name.length + 3) >= 0);
  return JSON.stringify({ operations: [], all_names: names });
}

function withSchema({ name, title, description, inputSchema }: Tool): string {
  return JSON.stringify({ name, title, description, inputSchema });
}

/** Returns a tool with its argument names, if its schema is too long. A call reports invalid arguments. */
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

/** Returns 1 for an exact match, 1/2 if one word is a prefix of the other, such as `customer` and `customers`. */
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
