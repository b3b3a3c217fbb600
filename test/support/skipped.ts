/** Why tests were skipped: said in the title of their `describe`, read from there when the run is over. */

const REASON = / \(skipped: (.+)\)$/;

/** The title of a `describe` that is skipped. `missing` is what the machine lacks, in a few words. */
export const titleOfSkipped = (title: string, missing: string): string => `${title} (skipped: ${missing})`;

/** A test in Jest's JSON report, as far as it is read here. */
export interface ReportedTest {
  readonly status: string;
  readonly ancestorTitles: readonly string[];
}

/** The reason of a skipped test; `no reason given` where no title says one. */
export function reasonOf({ ancestorTitles }: ReportedTest): string {
  for (const title of ancestorTitles) {
    const reason = REASON.exec(title)?.[1];
    if (reason !== undefined) return reason;
  }
  return 'no reason given';
}

/** How many tests were skipped for each reason, most first. Empty where none was skipped. */
export function countReasons(tests: readonly ReportedTest[]): readonly (readonly [reason: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const test of tests) {
    if (test.status !== 'pending' && test.status !== 'todo') continue;
    const reason = reasonOf(test);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one);
}
