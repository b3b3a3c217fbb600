import { describe, expect, it } from '@jest/globals';
import { CustomerParser } from '../customer.schema.js';
import { RequestError } from '../errors.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const parser = new CustomerParser({ now: () => NOW });
const minimal = { first_name: 'Anna', last_name: 'Huber', email: 'anna@example.com' };
const PHONE_MESSAGE = 'must be a phone number in E.164 form, for example +436641234567';
const EMAIL_MESSAGE = 'must be an email address, for example anna@example.com';
const TIME_MESSAGE = 'must be an RFC 3339 date-time, for example 2026-05-01T09:30:00Z';

function fieldsOf(run: () => unknown): Record<string, string> {
  try {
    run();
  } catch (error) {
    if (error instanceof RequestError)
      return Object.fromEntries(error.fields.map((one) => ['field' in one ? one.field : '', one.message]));
    throw error;
  }
  return {};
}

describe('creating a customer', () => {
  it('requires a name and an email, and sets defaults for the rest', () => {
    expect(parser.parseCreate(minimal)).toEqual({
      ...minimal,
      phone: null,
      language: 'en',
      birth_date: null,
      activities: [],
      status: 'lead',
      emergency_contact: null,
      waiver_signed_at: null,
      notes: null,
    });
  });

  it('normalizes the sent values', () => {
    const fields = parser.parseCreate({
      first_name: '  Zoe\u0308 ',
      last_name: "O'Brien",
      email: ' Anna.Huber@Example.COM ',
      language: 'de-at',
      waiver_signed_at: '2026-05-01T09:30:00+02:00',
      notes: 'two\nlines\tand a tab',
    });
    expect(fields).toMatchObject({
      first_name: 'Zoë',
      email: 'anna.huber@example.com',
      language: 'de-AT',
      waiver_signed_at: Date.parse('2026-05-01T07:30:00Z'),
      notes: 'two\nlines\tand a tab',
    });
  });

  it.each(["o'brien+rafting_100%@mail.example.co.uk", '1@xn--mnchen-3ya.de'])('accepts the address %s', (email) => {
    expect(parser.parseCreate({ ...minimal, email }).email).toBe(email);
  });

  it('names every wrong field at once', () => {
    const body = { last_name: 7, email: 'x', phone: '0664', emergency_contact: { phone: '1' }, nope: 1 };
    expect(fieldsOf(() => parser.parseCreate(body))).toEqual({
      first_name: 'is required',
      last_name: 'must be a string',
      email: EMAIL_MESSAGE,
      phone: PHONE_MESSAGE,
      'emergency_contact.name': 'is required',
      'emergency_contact.phone': PHONE_MESSAGE,
      nope: 'is not known here, leave it out',
    });
  });

  it.each<[string, unknown, string]>([
    ['first_name', '', 'must not be empty'],
    ['first_name', '   ', 'must not be empty'],
    ['first_name', null, 'must be a string, it cannot be null'],
    ['first_name', 'x'.repeat(101), 'must be at most 100 characters long'],
    ['last_name', 'a\u0000b', 'must not contain control characters'],
    ['last_name', 'a\ud800b', 'must not contain control characters'],
    ['last_name', 'a\nb', 'must not contain control characters'],
    ['email', 'anna@', EMAIL_MESSAGE],
    ['email', 'anna@localhost', EMAIL_MESSAGE],
    ['email', 'anna huber@example.com', EMAIL_MESSAGE],
    ['email', 'Anna <anna@example.com>', EMAIL_MESSAGE],
    ['email', 'anna@example.com, otto@example.com', EMAIL_MESSAGE],
    ['email', `${'x'.repeat(250)}@example.com`, 'must be at most 254 characters long'],
    ['phone', 436641234567, 'must be a string'],
    ['phone', '+43 664 1234567', PHONE_MESSAGE],
    ['phone', '+0436641234', PHONE_MESSAGE],
    ['language', 'German!', 'must be a BCP 47 language tag, for example de or de-AT'],
    ['language', '', 'must be a BCP 47 language tag, for example de or de-AT'],
    ['birth_date', '23.04.1990', 'must be a date, for example 1990-04-23'],
    ['birth_date', '2023-02-29', 'must be a date, for example 1990-04-23'],
    ['birth_date', '1899-12-31', 'must not be before 1900-01-01'],
    ['birth_date', '2026-11-21', 'must not be in the future'],
    ['activities', 'rafting', 'must be an array'],
    ['activities', ['rafting', 'rafting'], 'must not name an activity twice'],
    ['status', 'new', 'must be one of lead, active, inactive'],
    ['emergency_contact', 'Otto', 'must be an object'],
    ['waiver_signed_at', '2026-05-01', TIME_MESSAGE],
    ['waiver_signed_at', '2026-05-01T09:30:00', TIME_MESSAGE],
    ['waiver_signed_at', 1_777_627_800, TIME_MESSAGE],
    ['waiver_signed_at', '2026-11-20T12:06:00Z', 'must not be in the future'],
    ['notes', 'x'.repeat(2_001), 'must be at most 2000 characters long'],
    ['notes', 'bell\u0007', 'must not contain control characters'],
    ['id', 'cus_1', 'cannot be set, leave it out'],
    ['created_at', '2026-05-01T09:30:00Z', 'cannot be set, leave it out'],
    ['birthDate', '1990-04-23', 'is not known here, did you mean birth_date?'],
  ])('refuses %s = %j: %s', (field, value, message) => {
    expect(fieldsOf(() => parser.parseCreate({ ...minimal, [field]: value }))).toEqual({ [field]: message });
  });

  it('names the invalid entry in a list of activities', () => {
    expect(fieldsOf(() => parser.parseCreate({ ...minimal, activities: ['rafting', 'skiing'] }))).toEqual({
      'activities.1': 'must be one of rafting, climbing, bike_tour, canyoning, via_ferrata, kayaking, hiking',
    });
  });

  it('counts characters, not bytes or surrogates', () => {
    expect(parser.parseCreate({ ...minimal, notes: '🚣'.repeat(2_000) }).notes).toHaveLength(4_000);
  });

  it.each([[null], [undefined], [[]], ['text'], [7]])('refuses a body that is not an object: %j', (body) => {
    expect(() => parser.parseCreate(body)).toThrow(expect.objectContaining({ code: 'invalid_body' }));
  });
});

describe('changing a customer', () => {
  it('returns only the sent fields, without defaults', () => {
    expect(parser.parseUpdate({ status: 'active' })).toEqual({ status: 'active' });
    expect(parser.parseUpdate({})).toEqual({});
  });

  it('clears nullable fields with null, and refuses null for others', () => {
    const nullable = { phone: null, birth_date: null, emergency_contact: null, waiver_signed_at: null, notes: null };
    expect(parser.parseUpdate(nullable)).toEqual(nullable);
    expect(fieldsOf(() => parser.parseUpdate({ email: null, activities: null, language: null }))).toEqual({
      email: 'must be a string, it cannot be null',
      activities: 'must be an array, it cannot be null',
      language: 'must be a string, it cannot be null',
    });
  });

  it('applies the same rules as creating', () => {
    expect(fieldsOf(() => parser.parseUpdate({ email: 'x', Status: 'lead', updated_at: 'now' }))).toEqual({
      email: EMAIL_MESSAGE,
      Status: 'is not known here, did you mean status?',
      updated_at: 'cannot be set, leave it out',
    });
  });
});
