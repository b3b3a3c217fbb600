/** Types and builders for the tables of broken configurations. */

/**
 * File contents by name, or a function that creates the files in a folder. A string is the content of `gateway.yaml`.
 */
export type BrokenFiles = string | Readonly<Record<string, string | Buffer>> | ((folder: string) => void);

/**
 * A configuration that must be refused. `place` is `line:column` in `gateway.yaml`, or `file:line:column`. `message`
 * and `hint` are substrings of the problem's message and hint.
 */
export type BrokenConfig = readonly [
  name: string,
  files: BrokenFiles,
  place: string,
  message: string,
  hint: string,
  variables?: Readonly<Record<string, string>>,
];

/** A valid configuration of seven lines. */
export const RIGHT = `services:
  shop:
    targets: [http://127.0.0.1:4001]
operations:
  - { match: GET /orders, service: shop, scopes: [orders:read] }
plans:
  starter: { key: { minute: 60 } }
`;

/** Appends lines to the valid configuration. They begin on line 8. */
export function withLines(lines: string): string {
  return `${RIGHT}${lines}\n`;
}

/** Returns the valid configuration with a setting of its service in line 4. */
export function service(setting: string): string {
  return RIGHT.replace(':4001]\n', `:4001]\n    ${setting}\n`);
}

/** Returns the valid configuration with other targets, in line 3. */
export function targets(list: string): string {
  return RIGHT.replace('[http://127.0.0.1:4001]', list);
}

/** Returns the valid configuration with another operation, in line 6. */
export function operation(entry: string): string {
  return RIGHT.replace('plans:', `  - ${entry}\nplans:`);
}

/** Returns the valid configuration with a second plan, in line 8. */
export function plan(settings: string): string {
  return withLines(`  pro: ${settings}`);
}
