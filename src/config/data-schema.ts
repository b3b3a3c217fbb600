/**
 * Validates data against an operator's JSON Schema (2020-12). Strict: unknown keywords and formats, and external
 * references, are errors of the schema.
 */

/** A validation error. */
export interface DataFault {
  /** JSON Pointer into the data; empty for the whole. */
  readonly pointer: string;
  readonly detail: string;
}

/** Returns the first validation error, or undefined. */
export type DataCheck = (data: unknown) => DataFault | undefined;

/** OpenAPI keywords without effect on validation. */
const WORDS_OF_OPENAPI = ['example', 'xml', 'externalDocs', 'discriminator'];

/**
 * Compiles a schema. Rejects with an error that says what is wrong with the schema. Loads Ajv at first use, which takes
 * 0.1 s.
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
