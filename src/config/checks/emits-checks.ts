/** Checks that the operations in `gateway.yaml` emit only existing event types. */
import { didYouMean, type ConfigProblem } from '../model/problem.js';
import type { EventType } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

/**
 * Returns a problem for each `operations[].emits` that names an unknown event type.
 * @param value unvalidated `gateway.yaml`
 */
export function emitsProblems(
  source: SourceDocument,
  value: unknown,
  eventTypes: readonly EventType[],
): ConfigProblem[] {
  const names = eventTypes.map(({ name }) => name);
  const operations = valueAt(value, ['operations']);
  return (Array.isArray(operations) ? operations : []).flatMap((operation: unknown, index) => {
    const emits = valueAt(operation, ['emits']);
    if (typeof emits !== 'string' || names.includes(emits)) return [];
    const hint = didYouMean(emits, names) ?? 'name it under `events`';
    return [source.problem(['operations', index, 'emits'], `\`${emits}\` is not defined in \`events\``, hint)];
  });
}
