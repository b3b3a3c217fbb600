/** Finds doc comments and sentences that break writing rules which a program can check. */

/** Maximum length of a sentence, in words. */
export const MAX_WORDS = 25;

/** First words that hide the subject of a doc comment. */
const HIDDEN_SUBJECT = /^(?:Of|By|As|Its|Those|Who|Which|What|Where|Whoever)\b/;

/** Type of a JSDoc tag in JavaScript. Its braces can be nested three deep. */
const JSDOC_TYPE = /(?<=^@\w+ )\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\} ?/;

/** Returns the text of each `/** … *\/` comment of a source file, without its stars. */
export function docComments(source: string): string[] {
  return Array.from(source.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\//gm), ([, text = '']) =>
    text.replaceAll(/^[ \t]*\* ?/gm, '').trim(),
  );
}

/** Reports whether a doc comment begins with a word that hides its subject. */
export function hidesSubject(comment: string): boolean {
  return HIDDEN_SUBJECT.test(comment);
}

/** Returns the sentences of a text in Markdown or of a doc comment that have more than `MAX_WORDS` words. */
export function longSentences(text: string): string[] {
  return paragraphs(text)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?]["”)*_]*)\s+(?=["“(*_`[]*[\p{Lu}\d`])/u))
    .filter((sentence) => sentence.split(/\s+/).length > MAX_WORDS);
}

/**
 * Splits a text into paragraphs and list items. Leaves out code blocks, tables, headings, pictures and generated parts.
 */
function paragraphs(text: string): string[] {
  return text
    .replaceAll(/^<!-- (\S.*?): written by [\s\S]*?^<!-- end of \1 -->$/gm, '')
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/^(?:\||#|!\[).*$/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|\n(?=@)/)
    .map((paragraph) =>
      paragraph
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/`[^`]+`/g, '`code`')
        .replaceAll(/\]\([^)]*\)/g, ']')
        .replace(JSDOC_TYPE, '')
        .trim(),
    );
}
