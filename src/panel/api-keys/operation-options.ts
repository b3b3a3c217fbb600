/** Lists the operations of the public API as options of a select field. */
import type { components } from '../api/admin-api.js';

type Operation = components['schemas']['Operation'];

/** Returns the options of operations. The label has the hosts if an operation of another host has the same path. */
export function operationOptions(operations: readonly Operation[]): { value: string; label: string }[] {
  const labels = operations.map(({ method, path }) => `${method} ${path}`);
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return operations.map(({ operation: value, hosts }, at) => {
    const label = labels[at]!;
    const isUnique = counts.get(label) === 1 || hosts.length === 0;
    return { value, label: isUnique ? label : `${label} (${hosts.join(', ')})` };
  });
}
