/** Combines the faults of a value that matches none of several alternatives (`anyOf`, `oneOf`). */
import type { Fault, Place } from './fault.js';

/**
 * Returns the faults to report. If only one alternative allows the type of the value, returns the faults of that
 * alternative. Otherwise returns a single fault that combines the alternatives.
 * @param tried faults of each alternative, at least one per alternative
 * @param place location of the value; undefined for the arguments as a whole
 */
export function alternativeFaults(tried: readonly (readonly Fault[])[], place: Place | undefined): readonly Fault[] {
  const wrongType = tried.filter(([first]) => first?.kind === 'type' && first.place === place);
  const others = tried.filter((faults) => !wrongType.includes(faults));
  // Only the faults of an alternative that allows the value's type help. Example: an object for "null or object".
  const [only] = others;
  if (only !== undefined && others.length === 1 && tried.length > 1) return only;
  const isSimple = tried.every(
    (faults) => faults.length === 1 && faults[0]?.kind !== 'other' && faults[0]?.place === place,
  );
  if (!isSimple || tried.length === 0) {
    return [{ place, kind: 'other', detail: 'matches none of the allowed alternatives' }];
  }
  const expectations = tried.map(([fault]) => (fault?.detail ?? '').replace(/^must be /, ''));
  const kind = others.length === 0 ? 'type' : 'value';
  return [{ place, kind, detail: `must be ${[...new Set(expectations)].join(' or ')}` }];
}
