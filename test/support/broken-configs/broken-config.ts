/** Types of the tables of broken configurations. */

/** Contents by file name, or what makes the files of a folder; a text alone is `gateway.yaml`. */
export type BrokenFiles = string | Readonly<Record<string, string | Buffer>> | ((folder: string) => void);

/**
 * One configuration that must be refused, and how: `line:column` in `gateway.yaml` or `file:line:column`, and a part of the
 * message and of the hint.
 */
export type BrokenConfig = readonly [
  name: string,
  files: BrokenFiles,
  place: string,
  message: string,
  hint: string,
  variables?: Readonly<Record<string, string>>,
];

/** Seven lines that are right. */
export const RIGHT = `services:
  shop:
    targets: [http://127.0.0.1:4001]
operations:
  - { match: GET /orders, service: shop, scopes: [orders:read] }
plans:
  starter: { key: { minute: 60 } }
`;

/** The right one and more; what is added begins on line 8. */
export function plus(lines: string): string {
  return `${RIGHT}${lines}\n`;
}

/** The right one with a setting of its service in line 4. */
export function service(setting: string): string {
  return RIGHT.replace(':4001]\n', `:4001]\n    ${setting}\n`);
}

/** The right one with these targets, in line 3. */
export function targets(list: string): string {
  return RIGHT.replace('[http://127.0.0.1:4001]', list);
}

/** The right one with another operation, in line 6. */
export function operation(entry: string): string {
  return RIGHT.replace('plans:', `  - ${entry}\nplans:`);
}

/** The right one with another plan's settings, in line 8. */
export function plan(settings: string): string {
  return plus(`  pro: ${settings}`);
}
