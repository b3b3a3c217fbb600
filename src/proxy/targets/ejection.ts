/** When calls take an address out of service: by how many fail in a row, or by the share that fails. */
import type { OutcomeWindow } from './outcome-window.js';

export interface EjectionSettings {
  /** So many failures in a row eject; 0: nothing ever does. */
  readonly failures: number;
  /** Such a share of the calls within `window` ejects, if they fail; 0: none ever does. */
  readonly share: number;
  /** Fewer calls have no share. */
  readonly requests: number;
  readonly window: number;
  readonly duration: number;
  readonly longest: number;
}

/** Applies where `ejection` is not configured and there are several addresses. */
export const USUAL_EJECTION: EjectionSettings = {
  failures: 5,
  share: 0.25,
  requests: 20,
  window: 20_000,
  duration: 30_000,
  longest: 300_000,
};

/** The latest calls of an address. */
interface Observed {
  readonly recent: OutcomeWindow;
}

/**
 * Reports whether so many calls to an address fail that it is better left alone. It never is where the others fail more
 * than half as often: then the cause is not the address, and without it the others get its calls as well. Where the
 * others have too few calls to compare with, the cause can be one caller's requests.
 * @param others that are in service.
 */
export function failsTooOften(
  { recent }: Observed,
  others: readonly Observed[],
  { share, requests }: EjectionSettings,
  nowMs: number,
): boolean {
  recent.turnTo(nowMs);
  if (share === 0 || recent.calls < requests || recent.failed < share * recent.calls) return false;
  let calls = 0;
  let failed = 0;
  for (const other of others) {
    other.recent.turnTo(nowMs);
    calls += other.recent.calls;
    failed += other.recent.failed;
  }
  return calls >= requests && 2 * failed * recent.calls <= recent.failed * calls;
}
