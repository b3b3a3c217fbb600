/** What the guidance on an error is made of. */

/** ErrorGuidance says what a code means and what to do; Markdown with nothing but `code`. */
export interface ErrorGuidance {
  readonly meaning: string;
  readonly action: string;
}

export const RETRY_LATER = 'Try again with increasing pauses. If it lasts, tell support the `request_id`.';
