/** Converts the counter store's time of an observed count to the columns of the database. */

/** Splits an instant (ms with a fraction) into two columns: whole milliseconds, and the remaining microseconds. */
export function observedColumns(ms: number): { readonly observed_at: number; readonly observed_us: number } {
  const whole = Math.floor(ms);
  return { observed_at: whole, observed_us: Math.min(999, Math.round((ms - whole) * 1_000)) };
}
