/** What the program and its counting process tell each other over Node's channel between parent and child. */

/** The program asks whether it lives. */
export interface ToCounting {
  readonly type: 'ask';
  readonly id: number;
}

export type FromCounting =
  /** It counts, by scripts of which this is the hash. */
  | { readonly type: 'listening'; readonly lua: string }
  /** It cannot count, and ends. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'alive'; readonly id: number }
  /** It decides again, without what so many workers know of the counts before. */
  | { readonly type: 'incomplete'; readonly missing: number };
