/** Error bodies of real frameworks, as the frameworks write them. */
import { describe, expect, it } from '@jest/globals';
import { readErrorBody, type ErrorMeaning } from './error-body.js';

const read = (body: unknown, contentType = 'application/json'): ErrorMeaning =>
  readErrorBody(contentType, JSON.stringify(body));

describe('message, code and field errors are found in the format of each framework', () => {
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
          'JSON parse error: Cannot deserialize value of type `int`; nested exception is ' +
          'com.fasterxml.jackson.databind.exc.InvalidFormatException: Cannot deserialize',
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
