/** Parses and formats the delays between delivery attempts, such as `30s`, `5m`, `2h` and `1d`. */

/** Seconds per unit. */
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
/** Limits of the API: number of delays, seconds of one delay, and seconds of all delays together. */
const MAX_PAUSES = 20;
const MAX_SECONDS = 86_400;
const MAX_TOTAL_SECONDS = 7 * 86_400;

/** Formats a delay in the largest unit without a fraction, such as `5m` for 300 seconds and `90s` for 90 seconds. */
export function pauseText(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => seconds % SECONDS[each] === 0) ?? 's';
  return `${seconds / SECONDS[unit]}${unit}`;
}

/**
 * Parses delays into seconds. A number without a unit means seconds. Null if there is no delay, or if the API would
 * reject the schedule.
 */
export function secondsOf(pauses: readonly string[]): number[] | null {
  const seconds = pauses.map((pause) => {
    const [, count = '', unit = 's'] = /^(\d{1,6})\s*([smhd])?$/.exec(pause.trim().toLowerCase()) ?? [];
    return Number(count) * SECONDS[unit as keyof typeof SECONDS];
  });
  const isInRange = seconds.every((each) => each >= 1 && each <= MAX_SECONDS);
  const total = seconds.reduce((sum, each) => sum + each, 0);
  return isInRange && seconds.length > 0 && seconds.length <= MAX_PAUSES && total <= MAX_TOTAL_SECONDS ? seconds : null;
}
