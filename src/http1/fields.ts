/** Fields in their flat form (name, value, name, value; names as they were sent), read for what stands in them. */
import { protocolError } from './errors.js';

/** Fields by name in lower case; several of one name in a list. Names of object members are names like any. */
export type FieldsByName = Record<string, string | string[] | undefined>;

const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;

/** The values of a name, several joined as RFC 9110 section 5.3 says; undefined: not there. @param lower in lower case. */
export function fieldValue(fields: readonly string[], lower: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    if (name.length !== lower.length || name.toLowerCase() !== lower) continue;
    const one = fields[index + 1] ?? '';
    value = value === undefined ? one : `${value}, ${one}`;
  }
  return value;
}

export function fieldsByName(fields: readonly string[]): FieldsByName {
  const byName = Object.create(null) as FieldsByName;
  for (let index = 0; index < fields.length; index += 2) {
    const name = (fields[index] ?? '').toLowerCase();
    const value = fields[index + 1] ?? '';
    const before = byName[name];
    byName[name] = before === undefined ? value : [before, value].flat();
  }
  return byName;
}

/** The fields of lines that each end with CRLF. @throws Error `TRAILGATE_BAD_ANSWER`. */
export function fieldsOfLines(text: string): string[] {
  return text
    .split('\r\n')
    .slice(0, -1)
    .flatMap((line) => {
      const match = LINE.exec(line);
      if (match === null) throw protocolError('field');
      return [match[1] ?? '', match[2] ?? ''];
    });
}
