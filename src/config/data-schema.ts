/**
 * Validates event data against an operator's JSON Schema (2020-12). Unknown keywords, unknown formats and external
 * references are errors of the schema.
 */

/** The first error of invalid event data. */
export interface DataFault {
  /** JSON Pointer to the invalid part of the data. Empty for the data as a whole. */
  readonly pointer: string;
  readonly detail: string;
}

/** DataCheck validates event data. Returns the first error, or undefined if the data is valid. */
export type DataCheck = (data: unknown) => DataFault | undefined;

/** OpenAPI keywords that have no effect on validation, so that they are not unknown keywords. */
const OPENAPI_KEYWORDS = ['example', 'xml', 'externalDocs', 'discriminator'];

/**
 * Compiles a schema. Rejects with an error that describes the fault of the schema. The first call loads Ajv, which
 * takes 0.1 s.
 */
export async function compileDataSchema(schema: Readonly<Record<string, unknown>>): Promise<DataCheck> {
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: false, logger: false });
  formats.default.default(ajv);
  ajv.addVocabulary(OPENAPI_KEYWORDS);
  const validate = ajv.compile(schema);
  return (data) => {
    if (validate(data)) return undefined;
    const [error] = validate.errors ?? [];
    return { pointer: error?.instancePath ?? '', detail: error?.message ?? 'is not valid' };
  };
}
