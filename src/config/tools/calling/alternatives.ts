/** Faults for a value that matches none of several alternatives. */
import type { Fault, Place } from './fault.js';

/** @param tried faults per alternative, at least one each */
export function alternativeFaults(tried: readonly (readonly Fault[])[], place: Place | undefined): readonly Fault[] {
  const ofType = tried.filter(([first]) => first?.kind === 'type' && first.place === place);
  const others = tried.filter((faults) => !ofType.includes(faults));
  // For `null` or an object, a caller that sent an object needs the object's faults.
  const [only] = others;
  if (only !== undefined && others.length === 1 && tried.length > 1) return only;
  const isPlain = tried.every(
    (faults) => faults.length === 1 && faults[0]?.kind !== 'other' && faults[0]?.place === place,
  );
  if (!isPlain || tried.length === 0) {
    return [{ place, kind: 'other', detail: 'is as none of its alternatives allows' }];
  }
  const words = tried.map(([fault]) => (fault?.detail ?? '').replace(/^must be /, ''));
  const kind = others.length === 0 ? 'type' : 'value';
  return [{ place, kind, detail: `must be ${[...new Set(words)].join(' or ')}` }];
}
