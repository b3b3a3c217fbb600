/** Returns the current time. All code of the panel takes the time from this function. */
export const now = (): Date => new Date();
