/** Decides when failed calls eject an address: consecutive failures, or the share of failures. */
import type { OutcomeWindow } from './outcome-window.js';

export interface EjectionSettings {
  /** Consecutive failures that eject an address; 0 disables ejection. */
  readonly failures: number;
  /** Share of failed calls within `window` that ejects; 0 disables this rule. */
  readonly share: number;
  /** Minimum number of calls within `window` for this rule. */
  readonly requests: number;
  readonly window: number;
  readonly duration: number;
  readonly longest: number;
}

/** Defaults if `ejection` is not configured and a service has several addresses. */
export const DEFAULT_EJECTION: EjectionSettings = {
  failures: 5,
  share: 0.25,
  requests: 20,
  window: 20_000,
  duration: 30_000,
  longest: 300_000,
};

/** An address with its recent calls. */
interface Observed {
  readonly recent: OutcomeWindow;
}

/**
 * Reports whether an address fails so much more often than the others that it should be ejected. If the others fail
 * more than half as often, the cause is not the address. With too few calls to the others, the cause could be the
 * requests of one caller. Neither case ejects.
 * @param others other addresses in service.
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
