/** The JavaScript of a TypeScript file, by its path. */
export function compiled(file: string): string;
