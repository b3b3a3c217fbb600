/** The time, in one place. */
export const now = (): Date => new Date();
