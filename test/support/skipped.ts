/** Reasons of skipped tests. The title of their `describe` contains the reason, and the end of a run reads it. */

const REASON = / \(skipped: (.+)\)$/;

/** Returns the title of a skipped `describe`. `missing` says in a few words what the machine lacks. */
export const titleOfSkipped = (title: string, missing: string): string => `${title} (skipped: ${missing})`;

/** The used part of a test in Jest's JSON report. */
export interface ReportedTest {
  readonly status: string;
  readonly ancestorTitles: readonly string[];
}

/** Returns the reason of a skipped test, or `no reason given` if no title contains one. */
export function reasonOf({ ancestorTitles }: ReportedTest): string {
  for (const title of ancestorTitles) {
    const reason = REASON.exec(title)?.[1];
    if (reason !== undefined) return reason;
  }
  return 'no reason given';
}

/** Counts the skipped tests for each reason, in descending order. Empty if none was skipped. */
export function countReasons(tests: readonly ReportedTest[]): readonly (readonly [reason: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const test of tests) {
    if (test.status !== 'pending' && test.status !== 'todo') continue;
    const reason = reasonOf(test);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one);
}
