/**
 * Data checked against a JSON Schema (2020-12) that an operator has written. Strict: a keyword or a format that is not
 * known, or a reference that leads away, is an error of the schema, not something that lets everything through.
 */

/** What is wrong with some data. */
export interface DataFault {
  /** JSON Pointer into the data; empty: the whole. */
  readonly pointer: string;
  readonly detail: string;
}

/** Says what is wrong with data first; undefined where nothing is. */
export type DataCheck = (data: unknown) => DataFault | undefined;

/** Words of OpenAPI that stand beside those of JSON Schema, and check nothing. */
const WORDS_OF_OPENAPI = ['example', 'xml', 'externalDocs', 'discriminator'];

/**
 * Compiles a schema. Rejects with an error whose message says what is wrong with the schema. Ajv is loaded with the
 * first one: it takes a tenth of a second.
 */
export async function compileDataSchema(schema: Readonly<Record<string, unknown>>): Promise<DataCheck> {
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: false, logger: false });
  formats.default.default(ajv);
  ajv.addVocabulary(WORDS_OF_OPENAPI);
  const validate = ajv.compile(schema);
  return (data) => {
    if (validate(data)) return undefined;
    const [error] = validate.errors ?? [];
    return { pointer: error?.instancePath ?? '', detail: error?.message ?? 'is not valid' };
  };
}
