/** What somebody chooses as a day, as the API takes it: its beginning where the reader is. */
export const beginningOf = (day: string): string => new Date(`${day}T00:00:00`).toISOString();
