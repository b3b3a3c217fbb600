/** Returns the current time. The only clock of the panel. */
export const now = (): Date => new Date();
