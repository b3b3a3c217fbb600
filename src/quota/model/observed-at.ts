/** When a count was observed, as the database keeps it. */

/** observedAt is an instant (ms, with a fraction) as two columns: milliseconds, and the microseconds beyond them. */
export function observedAt(ms: number): { readonly observed_at: number; readonly observed_us: number } {
  const whole = Math.floor(ms);
  return { observed_at: whole, observed_us: Math.min(999, Math.round((ms - whole) * 1_000)) };
}
