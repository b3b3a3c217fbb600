/** Converts the time at which a count was observed to the columns of `quota_counter`. */

/** Splits an instant (ms with a fraction) into two columns: whole milliseconds, and the remaining microseconds. */
export function toObservedColumns(ms: number): { readonly observed_at: number; readonly observed_us: number } {
  const whole = Math.floor(ms);
  return { observed_at: whole, observed_us: Math.min(999, Math.round((ms - whole) * 1_000)) };
}
