/** Validates the request bodies of the customer API. Each error message tells the caller what to send. */
import { z } from 'zod';
import type { Clock } from './model/clock.js';
import type { CustomerFields } from './model/customer.js';
import { ACTIVITIES, STATUSES } from './model/customer.js';
import { RequestError } from './errors.js';
import { describeIssue, toFieldErrors } from './field-errors.js';

const NAME_LENGTH = 100;
const EMAIL_LENGTH = 254;
const NOTES_LENGTH = 2_000;
const LANGUAGE_LENGTH = 100;
const INSTANT_LENGTH = 40;
const EARLIEST_BIRTH_DATE = '1900-01-01';
/** Accepted difference between the clocks of caller and backend, for `waiver_signed_at`. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** Fields that the backend sets. A request body must not contain them. */
const READ_ONLY = ['id', 'created_at', 'updated_at'];

/** Matches control characters and unpaired surrogates, which some databases cannot store. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** Matches the characters of `UNPRINTABLE` except tabs and line breaks, for multi-line text. */
const UNPRINTABLE_IN_NOTES = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;

/** Returns a schema for text without forbidden characters, at most `maxLength` code points long. */
function text(maxLength: number, forbidden: RegExp): z.ZodString {
  return z
    .string()
    .refine((value) => !forbidden.test(value), 'must not contain control characters')
    .refine((value) => [...value].length <= maxLength, `must be at most ${maxLength} characters long`);
}

/** Matches email addresses by the rule of HTML, but requires at least two domain labels. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]+@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/i;

const name = text(NAME_LENGTH, UNPRINTABLE).trim().min(1, 'must not be empty').normalize('NFC');

const phone = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be a phone number in E.164 form, for example +436641234567');

const email = z
  .string()
  .trim()
  .max(EMAIL_LENGTH, `must be at most ${EMAIL_LENGTH} characters long`)
  .regex(EMAIL, 'must be an email address, for example anna@example.com')
  .toLowerCase();

const language = text(LANGUAGE_LENGTH, UNPRINTABLE).transform((value, context) => {
  try {
    // Use canonical case (de-AT for de-at), so that equal languages are stored as equal texts.
    return new Intl.Locale(value).toString();
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a BCP 47 language tag, for example de or de-AT' });
    return z.NEVER;
  }
});

const activities = z
  .array(z.enum(ACTIVITIES))
  .refine((list) => new Set(list).size === list.length, 'must not name an activity twice');

const emergencyContact = z.strictObject({ name, phone });

const instant = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 date-time, for example 2026-05-01T09:30:00Z' })
  .max(INSTANT_LENGTH, `must be at most ${INSTANT_LENGTH} characters long`)
  .transform((value) => Date.parse(value));

function birthDate(clock: Clock) {
  return z.iso
    .date('must be a date, for example 1990-04-23')
    .refine((date) => date >= EARLIEST_BIRTH_DATE, `must not be before ${EARLIEST_BIRTH_DATE}`)
    .refine((date) => Date.parse(date) <= clock.now(), 'must not be in the future');
}

function customerShape(clock: Clock) {
  return {
    first_name: name,
    last_name: name,
    email,
    phone: phone.nullable(),
    language,
    birth_date: birthDate(clock).nullable(),
    activities,
    status: z.enum(STATUSES),
    emergency_contact: emergencyContact.nullable(),
    waiver_signed_at: instant.refine((ms) => ms <= clock.now() + CLOCK_SKEW_MS, 'must not be in the future').nullable(),
    notes: text(NOTES_LENGTH, UNPRINTABLE_IN_NOTES).nullable(),
  };
}

/**
 * CustomerParser validates request bodies. It needs the clock, because birth dates and waivers must not be in the
 * future.
 */
export class CustomerParser {
  private readonly createSchema;
  private readonly updateSchema;
  private readonly fieldNames: readonly string[];

  constructor(clock: Clock) {
    const shape = customerShape(clock);
    this.fieldNames = Object.keys(shape);
    this.updateSchema = z.strictObject(shape).partial();
    this.createSchema = z.strictObject({
      ...shape,
      phone: shape.phone.default(null),
      language: shape.language.default('en'),
      birth_date: shape.birth_date.default(null),
      activities: shape.activities.default([]),
      status: shape.status.default('lead'),
      emergency_contact: shape.emergency_contact.default(null),
      waiver_signed_at: shape.waiver_signed_at.default(null),
      notes: shape.notes.default(null),
    });
  }

  /**
   * Returns all fields of a new customer. Missing optional fields get their defaults.
   * @throws RequestError `invalid_body` unless the body is an object; `validation_failed` with every invalid field
   */
  parseCreate(body: unknown): CustomerFields {
    return this.parse(this.createSchema, body);
  }

  /**
   * Returns only the fields that the body contains. Null clears an optional field.
   * @throws RequestError `invalid_body` unless the body is an object; `validation_failed` with every invalid field
   */
  parseUpdate(body: unknown): Partial<CustomerFields> {
    // JSON has no undefined, so every field of the body has a value.
    return this.parse(this.updateSchema, body) as Partial<CustomerFields>;
  }

  private parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new RequestError('invalid_body', 'The request body must be a JSON object.');
    }
    const parsed = schema.safeParse(body, { error: describeIssue });
    if (parsed.success) return parsed.data;
    const fields = toFieldErrors(parsed.error, this.fieldNames, READ_ONLY);
    const count = fields.length === 1 ? 'One field is' : `${fields.length} fields are`;
    throw new RequestError('validation_failed', `${count} not valid.`, fields);
  }
}
