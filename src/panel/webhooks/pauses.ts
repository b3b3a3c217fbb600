/** Parses and formats pauses between attempts: `30s`, `5m`, `2h`, `1d`. */

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const MOST = 20;
const LONGEST = 86_400;
const LONGEST_TOGETHER = 7 * 86_400;

/** Formats seconds in the largest unit that fits. */
export function pauseText(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => seconds % SECONDS[each] === 0) ?? 's';
  return `${seconds / SECONDS[unit]}${unit}`;
}

/** Parses pauses into seconds; null if the API would reject the schedule. */
export function secondsOf(pauses: readonly string[]): number[] | null {
  const seconds = pauses.map((pause) => {
    const [, count = '', unit = 's'] = /^(\d{1,6})\s*([smhd])?$/.exec(pause.trim().toLowerCase()) ?? [];
    return Number(count) * SECONDS[unit as keyof typeof SECONDS];
  });
  const isGood = seconds.every((each) => each >= 1 && each <= LONGEST);
  const together = seconds.reduce((sum, each) => sum + each, 0);
  return isGood && seconds.length > 0 && seconds.length <= MOST && together <= LONGEST_TOGETHER ? seconds : null;
}
