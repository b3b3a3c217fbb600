/** Messages between the program and its counting process, sent over Node's channel between parent and child. */

/** ToCounting asks whether the process responds. */
export interface ToCounting {
  readonly type: 'ask';
  readonly id: number;
}

export type FromCounting =
  /** It counts. `lua` is the hash of its scripts. */
  | { readonly type: 'listening'; readonly lua: string }
  /** It cannot count, and exits. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'alive'; readonly id: number }
  /** It decides again, without the counts of `missing` workers. */
  | { readonly type: 'incomplete'; readonly missing: number };
