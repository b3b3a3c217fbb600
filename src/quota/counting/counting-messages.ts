/** Defines the messages between the program and its counting process, over Node's IPC channel. */

/** ToCounting asks the process whether it still responds. The process replies with `alive` and the same ID. */
export interface ToCounting {
  readonly type: 'ask';
  readonly id: number;
}

/** FromCounting is a message from the counting process. */
export type FromCounting =
  /** The process accepts calls. `lua` is the hash of its scripts. */
  | { readonly type: 'listening'; readonly lua: string }
  /** The process cannot start, and exits. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'alive'; readonly id: number }
  /** The process makes decisions again, although `missing` workers have not reported their counts. */
  | { readonly type: 'incomplete'; readonly missing: number };
