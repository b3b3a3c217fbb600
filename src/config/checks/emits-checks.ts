/** Whether what operations emit are events that there are. */
import { didYouMean, type ConfigProblem } from '../model/problem.js';
import { isObject } from '../openapi/openapi-traversal.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

/** Faults of `operations[].emits`. */
export function emitsProblems(source: SourceDocument, value: unknown): ConfigProblem[] {
  const events = valueAt(value, ['events']);
  const names = Array.isArray(events) ? events.map(String) : Object.keys(isObject(events) ? events : {});
  const operations = valueAt(value, ['operations']);
  return (Array.isArray(operations) ? operations : []).flatMap((operation: unknown, index) => {
    const emits = valueAt(operation, ['emits']);
    if (typeof emits !== 'string' || names.includes(emits)) return [];
    const hint = didYouMean(emits, names) ?? 'name it under `events`';
    return [source.problem(['operations', index, 'emits'], `\`${emits}\` is no event of \`events\``, hint)];
  });
}
