/** Finds tools by words: in their names first, then in titles and paths, then in descriptions. */
import type { Tool } from '../../config/tools/tool.js';

const WORD = /[\p{L}\p{N}]+/gu;
/** What a word is worth where it stands; a part of a longer word half of that. */
const NAME_WORTH = 8;
const TITLE_WORTH = 4;
const PATH_WORTH = 4;
const DESCRIPTION_WORTH = 2;

interface Indexed {
  readonly name: readonly string[];
  readonly title: readonly string[];
  readonly path: readonly string[];
  readonly description: readonly string[];
}

const indexes = new WeakMap<Tool, Indexed>();

/** Those that fit best, best first; of equal ones the first in the configuration. */
export function foundTools(tools: readonly Tool[], query: string, most: number): readonly Tool[] {
  const words = wordsOf(query);
  return tools
    .map((tool, at) => ({ tool, at, worth: worthOf(indexOf(tool), words) }))
    .filter(({ worth }) => worth > 0)
    .toSorted((a, b) => b.worth - a.worth || a.at - b.at)
    .slice(0, most)
    .map(({ tool }) => tool);
}

function worthOf({ name, title, path, description }: Indexed, words: readonly string[]): number {
  let worth = 0;
  for (const word of words) {
    worth += NAME_WORTH * share(name, word) + TITLE_WORTH * share(title, word);
    worth += PATH_WORTH * share(path, word) + DESCRIPTION_WORTH * share(description, word);
  }
  return worth;
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
