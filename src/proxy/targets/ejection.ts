/** Decides whether to eject an address that fails more often than the others. Also defines the default settings. */
import type { OutcomeWindow } from './outcome-window.js';

/** Settings of a service under `ejection`. Times are in milliseconds. */
export interface EjectionSettings {
  /** Number of consecutive failures that eject an address; 0 disables ejection. */
  readonly failures: number;
  /** Minimum share of failed calls within `window` that ejects an address; 0 disables this rule. */
  readonly share: number;
  /** Minimum number of calls within `window` for the rule of `share`. */
  readonly requests: number;
  readonly window: number;
  /** Duration of the first ejection. Each further ejection doubles the duration, up to `longest`. */
  readonly duration: number;
  /** Maximum duration of an ejection. */
  readonly longest: number;
}

/** Settings of services with several addresses for which `ejection` is not configured. */
export const DEFAULT_EJECTION: EjectionSettings = {
  failures: 5,
  share: 0.25,
  requests: 20,
  window: 20_000,
  duration: 30_000,
  longest: 300_000,
};

/** The results of the recent calls to an address. */
interface Observed {
  readonly recent: OutcomeWindow;
}

/**
 * Reports whether an address fails so much more often than the others that it should be ejected. Returns false if the
 * others fail more than half as often, because the address is then not the cause. Also returns false with too few
 * calls, because the requests of one caller could be the cause.
 * @param others the other addresses in service.
 */
export function failsTooOften(
  { recent }: Observed,
  others: readonly Observed[],
  { share, requests }: EjectionSettings,
  nowMs: number,
): boolean {
  recent.advanceTo(nowMs);
  if (share === 0 || recent.calls < requests || recent.failed < share * recent.calls) return false;
  let calls = 0;
  let failed = 0;
  for (const other of others) {
    other.recent.advanceTo(nowMs);
    calls += other.recent.calls;
    failed += other.recent.failed;
  }
  return calls >= requests && 2 * failed * recent.calls <= recent.failed * calls;
}
