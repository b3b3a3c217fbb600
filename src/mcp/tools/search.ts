/**
 * Searches tools by words. Matches in names have the highest score, then matches in titles and paths, then matches in
 * descriptions. The result contains the arguments of the best matches and the names of the others, in at most about
 * 1,500 tokens.
 */
import type { Tool } from '../../config/tools/tool.js';

const WORD = /[\p{L}\p{N}]+/gu;
/** Scores of a word that matches in a field. A prefix match scores half. */
const NAME_SCORE = 8;
const TITLE_SCORE = 4;
const PATH_SCORE = 4;
const DESCRIPTION_SCORE = 2;
/**
 * Penalty for each word of the name that is not in the query. With it, `create issue` finds `create_issue` before
 * `create_issue_label`.
 */
const EXTRA_WORD_PENALTY = 1;
/** A tool is found only if more than this share of the query's words match. */
const MIN_MATCHED_SHARE = 2 / 3;
/** Maximum length of a result: 1,500 tokens of about four characters each. */
const MAX_CHARACTERS = 6_000;
/** Maximum number of matches that are returned with their schema. */
const MAX_WITH_SCHEMA = 2;
const LONGEST_DESCRIPTION = 200;

/** Words of a query that are not searched, unless it has no other words. */
const STOP_WORDS = new Set('a all an and by for from in is me my of on or please the to with'.split(' '));
/** Words of queries, and the words that APIs usually use instead. */
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

interface IndexedTool {
  readonly name: readonly string[];
  readonly title: readonly string[];
  readonly path: readonly string[];
  readonly description: readonly string[];
}

const indexes = new WeakMap<Tool, IndexedTool>();

/**
 * Returns the tools that match a query, best match first. Tools with equal scores keep the configuration order.
 * @param maxTools maximum number of tools
 */
export function foundTools(tools: readonly Tool[], query: string, maxTools: number): readonly Tool[] {
  const all = wordsOf(query);
  const significant = all.filter((word) => !STOP_WORDS.has(word));
  const words = significant.length === 0 ? all : significant;
  return tools
    .map((tool, at) => ({ tool, at, score: scoreOf(indexOf(tool), words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, maxTools)
    .map(({ tool }) => tool);
}

/**
 * Formats the found tools as JSON for the assistant. Omits the last tools if the text would be too long.
 * @param found tools, best match first
 */
export function foundText(found: readonly Tool[]): string {
  const listed: string[] = [];
  let left = MAX_CHARACTERS - '{"operations":[]}'.length;
  for (const [index, tool] of found.entries()) {
    const texts = index < MAX_WITH_SCHEMA ? [withSchema(tool), withArguments(tool), named(tool)] : [named(tool)];
    const text = texts.find(({ length }) => length < left);
    if (text === undefined) break;
    listed.push(text);
    left -= text.length + 1;
  }
  return `{"operations":[${listed.join(',')}]}`;
}

/** Formats the names of all tools as JSON, for a search without matches. Omits names that do not fit. */
export function allNamesText(tools: readonly Tool[]): string {
  let left = MAX_CHARACTERS - '{"operations":[],"all_names":[]}'.length;
  const names = tools.map(({ name }) => name).filter((name) => (left -= name.length + 3) >= 0);
  return JSON.stringify({ operations: [], all_names: names });
}

function withSchema({ name, title, description, inputSchema }: Tool): string {
  return JSON.stringify({ name, title, description, inputSchema });
}

/**
 * Formats a tool with the names of its arguments, for a tool whose schema is too long. A call reports invalid
 * arguments.
 */
function withArguments({ name, title, description, inputSchema }: Tool): string {
  const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: readonly string[] };
  const args = Object.keys(properties);
  return JSON.stringify({ name, title, description: shortened(description), arguments: args, required });
}

function named({ name, title, description }: Tool): string {
  return JSON.stringify(title === undefined ? { name, description: shortened(description) } : { name, title });
}

function shortened(text: string): string {
  return text.length <= LONGEST_DESCRIPTION ? text : `${text.slice(0, LONGEST_DESCRIPTION - 1).toWellFormed()}…`;
}

/** Returns the score of a tool for the words of a query. Returns 0 if too few words match. */
function scoreOf({ name, title, path, description }: IndexedTool, words: readonly string[]): number {
  let [score, matched] = [0, 0];
  const searched = new Set<string>();
  for (const given of words) {
    const word = SYNONYMS.has(given) && matchOf(name, given) === 0 ? SYNONYMS.get(given)! : given;
    searched.add(word);
    const wordScore =
      NAME_SCORE * matchOf(name, word) +
      TITLE_SCORE * matchOf(title, word) +
      PATH_SCORE * matchOf(path, word) +
      DESCRIPTION_SCORE * Math.max(matchOf(description, word), matchOf(description, given));
    score += wordScore;
    if (wordScore > 0) matched++;
  }
  if (matched <= MIN_MATCHED_SHARE * words.length) return 0;
  const extra = name.filter((word) => matchOf([...searched], word) === 0).length;
  return Math.max(score - EXTRA_WORD_PENALTY * extra, Number.EPSILON);
}

/**
 * Returns 1 if one of the texts equals the word. Returns 1/2 if one is a prefix of the other, such as `customer` and
 * `customers`. Otherwise returns 0.
 */
function matchOf(texts: readonly string[], word: string): number {
  if (texts.includes(word)) return 1;
  return texts.some((text) => text.startsWith(word) || (text.length > 2 && word.startsWith(text))) ? 1 / 2 : 0;
}

function indexOf(tool: Tool): IndexedTool {
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
