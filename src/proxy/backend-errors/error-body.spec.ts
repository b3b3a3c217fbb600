/** What error bodies of real frameworks say: each is as the framework writes it. */
import { describe, expect, it } from '@jest/globals';
import { readErrorBody, type ErrorMeaning } from './error-body.js';

const read = (body: unknown, contentType = 'application/json'): ErrorMeaning =>
  readErrorBody(contentType, JSON.stringify(body));

describe('the message, the code and the wrong fields are found where each framework puts them', () => {
  it.each<[string, unknown, ErrorMeaning]>([
    [
      'Rails, model errors',
      { errors: { email: ["can't be blank", 'is invalid'], base: ['Tour is full'] } },
      {
        errors: [
          { detail: "can't be blank", pointer: '#/email' },
          { detail: 'is invalid', pointer: '#/email' },
          { detail: 'Tour is full' },
        ],
      },
    ],
    [
      'Rails, full messages',
      { errors: ["Email can't be blank", 'Name is too short (minimum is 2 characters)'] },
      { errors: [{ detail: "Email can't be blank" }, { detail: 'Name is too short (minimum is 2 characters)' }] },
    ],
    ['Rails, default 404', { status: 404, error: 'Not Found' }, { detail: 'Not Found' }],
    [
      'Laravel, validation',
      {
        message: 'The email field is required. (and 1 more error)',
        errors: { email: ['The email field is required.'], 'items.0.quantity': ['The quantity must be at least 1.'] },
      },
      {
        detail: 'The email field is required. (and 1 more error)',
        errors: [
          { detail: 'The email field is required.', pointer: '#/email' },
          { detail: 'The quantity must be at least 1.', pointer: '#/items/0/quantity' },
        ],
      },
    ],
    [
      'Laravel in debug mode, whose message names a class',
      {
        message: 'No query results for model [App\\Models\\Customer] 7',
        exception: 'Symfony\\Component\\HttpKernel\\Exception\\NotFoundHttpException',
        file: '/var/www/html/vendor/laravel/framework/src/Handler.php',
        line: 385,
        trace: [{ file: '/var/www/html/vendor/x.php', line: 1 }],
      },
      {},
    ],
    [
      'Django REST, fields',
      { email: ['Enter a valid email address.'], non_field_errors: ['End must be after start.'] },
      {
        errors: [
          { detail: 'Enter a valid email address.', pointer: '#/email' },
          { detail: 'End must be after start.' },
        ],
      },
    ],
    ['Django REST, detail', { detail: 'Not found.' }, { detail: 'Not found.' }],
    [
      'Django REST, detail and code',
      { detail: 'Token is invalid or expired', code: 'token_not_valid' },
      { detail: 'Token is invalid or expired', reason: 'token_not_valid' },
    ],
    [
      'FastAPI, validation',
      {
        detail: [
          { type: 'missing', loc: ['body', 'email'], msg: 'Field required', input: { name: 'Ann' } },
          { type: 'int_parsing', loc: ['query', 'limit'], msg: 'Input should be a valid integer', input: 'x' },
          { type: 'string_type', loc: ['body', 'tours', 0, 'name'], msg: 'Input should be a valid string' },
          { type: 'missing', loc: ['body'], msg: 'Field required', input: null },
        ],
      },
      {
        errors: [
          { detail: 'Field required', pointer: '#/email' },
          { detail: 'Input should be a valid integer', parameter: 'limit' },
          { detail: 'Input should be a valid string', pointer: '#/tours/0/name' },
          { detail: 'Field required', pointer: '#' },
        ],
      },
    ],
    ['FastAPI, HTTPException', { detail: 'Customer not found' }, { detail: 'Customer not found' }],
    [
      'Spring Boot, validation',
      {
        timestamp: '2026-11-20T10:00:00.000+00:00',
        status: 400,
        error: 'Bad Request',
        message: "Validation failed for object='customer'. Error count: 1",
        errors: [
          {
            codes: ['NotBlank.customer.email', 'NotBlank.email', 'NotBlank'],
            arguments: [{ codes: ['customer.email', 'email'], defaultMessage: 'email', code: 'email' }],
            defaultMessage: 'must not be blank',
            objectName: 'customer',
            field: 'address.lines[0]',
            rejectedValue: '',
            code: 'NotBlank',
          },
        ],
        path: '/customers',
      },
      {
        detail: "Validation failed for object='customer'. Error count: 1",
        errors: [{ detail: 'must not be blank', pointer: '#/address/lines/0', code: 'NotBlank' }],
      },
    ],
    [
      'Spring Boot with a Java exception as its message',
      {
        status: 400,
        error: 'Bad Request',
        message:
          'JSON parse error: Cannot deserialize value of type `int`; nested exception is com.fasterxml.jackson.databind.exc.InvalidFormatException: Cannot deserialize',
        trace:
          'org.springframework.http.converter.HttpMessageNotReadableException: JSON parse error\n\tat a.b.C(D.java:1)',
        path: '/customers',
      },
      { detail: 'Bad Request' },
    ],
    [
      'Spring 6, problem detail',
      { type: 'about:blank', title: 'Bad Request', status: 400, detail: 'Invalid request content.', instance: '/x' },
      { detail: 'Invalid request content.' },
    ],
    [
      'NestJS, class-validator',
      { statusCode: 400, message: ['email must be an email', 'name should not be empty'], error: 'Bad Request' },
      {
        detail: 'Bad Request',
        errors: [
          { detail: 'email must be an email', pointer: '#/email' },
          { detail: 'name should not be empty', pointer: '#/name' },
        ],
      },
    ],
    [
      'NestJS, sentences of its own',
      { statusCode: 400, message: ['We cannot book this', 'You must be 18'], error: 'Bad Request' },
      { detail: 'Bad Request', errors: [{ detail: 'We cannot book this' }, { detail: 'You must be 18' }] },
    ],
    [
      'NestJS, validation errors as they are',
      {
        statusCode: 400,
        message: [{ property: 'email', constraints: { isEmail: 'email must be an email' } }],
        error: 'Bad Request',
      },
      { detail: 'Bad Request', errors: [{ detail: 'email must be an email', pointer: '#/email' }] },
    ],
    [
      'NestJS, not found',
      { statusCode: 404, message: 'No such customer', error: 'Not Found' },
      { detail: 'No such customer' },
    ],
    [
      'ASP.NET Core',
      {
        type: 'https://tools.ietf.org/html/rfc9110#section-15.5.1',
        title: 'One or more validation errors occurred.',
        status: 400,
        errors: {
          Email: ['The Email field is required.'],
          '$.age': ['The JSON value could not be converted to Int32.'],
        },
        traceId: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
      },
      {
        detail: 'One or more validation errors occurred.',
        errors: [
          { detail: 'The Email field is required.', pointer: '#/Email' },
          { detail: 'The JSON value could not be converted to Int32.', pointer: '#/age' },
        ],
      },
    ],
    [
      'JSON:API',
      {
        errors: [
          {
            status: '422',
            code: 'invalid',
            source: { pointer: '/data/attributes/email' },
            title: 'Invalid',
            detail: 'Email must be valid.',
          },
          {
            status: '400',
            source: { parameter: 'include' },
            title: 'Invalid Query Parameter',
            detail: 'There is no author.',
          },
        ],
      },
      {
        errors: [
          { detail: 'Email must be valid.', pointer: '#/data/attributes/email', code: 'invalid' },
          { detail: 'There is no author.', parameter: 'include' },
        ],
      },
    ],
    [
      'RFC 9457 with its own example of errors',
      {
        type: 'https://example.net/validation-error',
        title: 'Your request is not valid.',
        errors: [
          { detail: 'must be a positive integer', pointer: '#/age' },
          { detail: "must be 'green', 'red' or 'blue'", pointer: '#/profile/color' },
        ],
      },
      {
        detail: 'Your request is not valid.',
        errors: [
          { detail: 'must be a positive integer', pointer: '#/age' },
          { detail: "must be 'green', 'red' or 'blue'", pointer: '#/profile/color' },
        ],
      },
    ],
    [
      'the customers backend, fields',
      {
        error: {
          code: 'validation_failed',
          message: 'Two fields are not valid.',
          fields: [
            { field: 'email', message: 'must be an e-mail address' },
            { field: 'emergency_contact.phone', message: 'is required' },
          ],
        },
      },
      {
        detail: 'Two fields are not valid.',
        reason: 'validation_failed',
        errors: [
          { detail: 'must be an e-mail address', pointer: '#/email' },
          { detail: 'is required', pointer: '#/emergency_contact/phone' },
        ],
      },
    ],
    [
      'the customers backend, parameters',
      {
        error: {
          code: 'invalid_parameter',
          message: 'limit is not valid.',
          fields: [{ parameter: 'limit', message: 'must be 1 to 100' }],
        },
      },
      {
        detail: 'limit is not valid.',
        reason: 'invalid_parameter',
        errors: [{ detail: 'must be 1 to 100', parameter: 'limit' }],
      },
    ],
    [
      'Stripe and its kind',
      {
        error: {
          type: 'invalid_request_error',
          code: 'parameter_missing',
          message: 'Missing required param: email.',
          param: 'email',
        },
      },
      { detail: 'Missing required param: email.', reason: 'parameter_missing' },
    ],
    [
      'OAuth',
      { error: 'invalid_grant', error_description: 'The code has expired.' },
      { detail: 'The code has expired.', reason: 'invalid_grant' },
    ],
  ])('%s', (_name, body, meaning) => {
    expect(read(body)).toEqual(meaning);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/problem+json',
    'application/vnd.api+json',
    'APPLICATION/JSON',
    'text/json',
  ])('%s is read as JSON', (contentType) => {
    expect(read({ message: 'Too late' }, contentType)).toEqual({ detail: 'Too late' });
  });

  it('a name with a slash or a tilde is escaped in a pointer', () => {
    expect(read({ errors: { 'a/b~c': ['is wrong'] } }).errors).toEqual([{ detail: 'is wrong', pointer: '#/a~1b~0c' }]);
  });
});

describe('what says nothing to a client is left out', () => {
  it.each<[string, string | undefined, string | undefined]>([
    ['no body', 'application/json', ''],
    ['a body that was too large to be read', 'application/json', undefined],
    ['broken JSON', 'application/json', '{"message": "half a'],
    ['HTML that calls itself JSON', 'application/json', '<html>Internal</html>'],
    ['HTML', 'text/html', '<h1>Not Found</h1>'],
    ['plain text', 'text/plain', 'Not Found'],
    ['JSON that calls itself HTML', 'text/html', '{"message":"x"}'],
    ['no content type', undefined, '{"message":"x"}'],
    ['JavaScript', 'application/javascript+json5', '{"message":"x"}'],
    ['null', 'application/json', 'null'],
    ['a number', 'application/json', '42'],
    ['a text', 'application/json', '"Not Found"'],
    ['an empty list', 'application/json', '[]'],
    ['an empty object', 'application/json', '{}'],
    ['members of other types', 'application/json', '{"message":7,"detail":null,"errors":true,"error":[]}'],
    ['lists of nothing', 'application/json', '{"errors":[null,1,[],{},""]}'],
  ])('%s', (_name, contentType, body) => {
    expect(readErrorBody(contentType, body)).toEqual({});
  });

  it.each([
    'TypeError: Cannot read properties of undefined\n    at Object.<anonymous> (/app/src/server.js:12:5)',
    'Traceback (most recent call last):\n  File "/srv/app.py", line 3',
    'java.lang.NullPointerException: null',
    'ActiveRecord::RecordNotFound in app/models/customer.rb:12',
    '<p>Whoops</p>',
    '<!DOCTYPE html><html>',
    'SQLSTATE[42S02]: select * from "customers" where id = 1',
    'error in /srv/app/main.go:44',
  ])('a message for developers is not shown: %s', (message) => {
    expect(read({ message })).toEqual({});
    expect(read({ errors: [{ field: 'email', message }] })).toEqual({});
    expect(read({ errors: { email: [message] } })).toEqual({});
  });

  it('an exception class is no code', () => {
    expect(read({ code: 'NullPointerException', message: 'No' })).toEqual({ detail: 'No' });
  });
});

describe('the size of what is passed on is bounded', () => {
  it('a long message is cut', () => {
    expect(read({ message: 'x'.repeat(5_000) }).detail).toBe(`${'x'.repeat(1_000)}…`);
  });

  it('of very many field errors a hundred are kept', () => {
    const errors = Array.from({ length: 5_000 }, (_, index) => ({ field: `f${index}`, message: 'is wrong' }));
    expect(read({ errors }).errors).toHaveLength(100);
    const map = Object.fromEntries(errors.map(({ field, message }) => [field, [message]]));
    expect(read({ errors: map }).errors).toHaveLength(100);
  });

  it.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
    ['lists in objects', '{"a":[', ']}'],
  ])('very deep nesting of %s does not overflow the stack', (_what, opening, closing) => {
    const deep = `${opening.repeat(8_000)}"x"${closing.repeat(8_000)}`;
    expect(readErrorBody('application/json', `{"errors":${deep}}`)).toEqual({});
    expect(readErrorBody('application/json', deep)).toEqual({});
  });

  it.each([
    ['one word', 'a'.repeat(60_000)],
    ['empty lines', `x${'\n'.repeat(30_000)}x`],
    ['the beginning of a statement', 'SELECT '.repeat(9_000)],
    ['spaces after a line', `x\n${' '.repeat(60_000)}x`],
  ])(
    'a message of %s, as a client may have made the backend repeat it, does not hold up the others',
    (_what, message) => {
      const startedMs = performance.now();
      read({ message });
      // It is some milliseconds; what grows with the square of the length is seconds.
      expect(performance.now() - startedMs).toBeLessThan(200);
    },
  );

  it('fields in fields are followed as far as people nest them', () => {
    expect(read({ errors: { trip: { guests: { leader: { phone: ['is required'] } } } } }).errors).toEqual([
      { detail: 'is required', pointer: '#/trip/guests/leader/phone' },
    ]);
  });
});
