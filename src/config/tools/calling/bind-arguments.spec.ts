/** Checked arguments become exactly the request that they describe. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ANY_CHARACTER } from '../../../../test/support/texts.js';
import { parseExact } from '../../../platform/json/exact-json.js';
import { bindCall, json, toolOf, toolsOf } from '../../../../test/support/tools.js';

const parameter = (where: string, schema: unknown, more: object = {}) => ({
  parameters: [{ name: 'q', in: where, required: where === 'path', schema, ...more }],
});
const list = { type: 'array', items: {} };
const object = { type: 'object' };
/** Returns the URL of a call, or its faults. */
const urlOf = (match: string, operation: object, args: Readonly<Record<string, unknown>>): unknown => {
  const request = bindCall(toolOf(match, { ...operation }), args);
  return 'faults' in request ? request.faults.map(({ field, detail }) => `${field}: ${detail}`) : request.url;
};

describe('the path', () => {
  it.each([
    ['cus_1', '/x/cus_1/y'],
    ['a b', '/x/a%20b/y'],
    ['ä&=+?#@:', '/x/%C3%A4%26%3D%2B%3F%23%40%3A/y'],
    ["a'()*!~", "/x/a'()*!~/y"],
    ['100%', '/x/100%25/y'],
    ['...', '/x/.../y'],
    ['{q}', '/x/%7Bq%7D/y'],
    ['$&', '/x/%24%26/y'],
    ['\ud800', '/x/%EF%BF%BD/y'],
    [7, '/x/7/y'],
    [true, '/x/true/y'],
  ])('encodes %j as one segment: %s', (q, url) => {
    expect(urlOf('GET /x/{q}/y', parameter('path', {}), { q })).toBe(url);
  });

  it.each([
    ['', 'must not be empty'],
    [null, 'must not be empty'],
    ['.', 'must not be . or ..'],
    [' .. ', 'must not be . or ..'],
    ['..?a', 'must not be . or ..'],
    ...['a/b', '/', 'a\\b', 'a;b', 'a\nb', '\0', 'a%2fb', '%2e%2e', '\u0085'].map((q) => [
      q,
      'must not have /, \\, ;, a percent-encoded or a control character',
    ]),
  ])('refuses %j as a segment', (q, detail) => {
    expect(urlOf('GET /x/{q}/y', parameter('path', {}), { q })).toEqual([`q: ${detail}`]);
  });

  it.each([
    ['@a/b', '/x/%40a%2Fb/y'],
    ['a/b/c d', '/x/a%2Fb%2Fc%20d/y'],
    ['a//b', ['q: each part between slashes must not be empty']],
    ['a/../b', ['q: each part between slashes must not be . or ..']],
    ['a/b;c', ['q: each part between slashes must not have \\, ;, a percent-encoded or a control character']],
    ['a%2fb', ['q: must not have \\, ;, a percent-encoded or a control character']],
  ])('handles %j with encodedSlashes: pass', (q, url) => {
    const entries = [{ match: 'GET /x/{q}/y', encodedSlashes: 'pass' }];
    const request = bindCall(toolOf('GET /x/{q}/y', parameter('path', {}), { entries }), { q });
    expect(
      'faults' in request ? request.faults.map(({ field, detail }) => `${field}: ${detail}`) : request.url,
    ).toEqual(url);
  });

  it.each([
    ['a list', list, ['a', 'b c'], false, '/x/a,b%20c'],
    ['a list, a comma within an item', list, ['a,b', 'c'], false, '/x/a%2Cb,c'],
    ['an object', object, { a: 1, b: 'c' }, false, '/x/a,1,b,c'],
    ['an object that is exploded', object, { a: 1, b: 'c' }, true, '/x/a=1,b=c'],
  ])('serializes %s in style simple', (_case, schema, q, explode, url) => {
    expect(urlOf('GET /x/{q}', parameter('path', schema, { explode }), { q })).toBe(url);
  });

  it('refuses an argument that would lead to another operation', () => {
    const operation = (id: string) => ({ operationId: id, 'x-mcp': true, responses: { '200': { description: 'ok' } } });
    const { byName } = toolsOf({
      paths: {
        '/x/{id}': { get: operation('getX') },
        '/x/Export': { get: operation('exportX') },
        '/x/{id}/lines': { get: operation('lines') },
        '/y/Export': { get: operation('exportY') },
      },
    });
    const call = (id: string) => byName.get('get_x')?.bind({ id });
    for (const id of ['Export', 'export', 'EXPORT', ' export ', 'export.json', 'export?', 'export#', 'Export .csv']) {
      const detail = 'must not be `export`: that leads to another operation';
      expect([id, call(id)]).toEqual([id, { faults: [{ field: 'id', detail }] }]);
    }
    for (const id of ['exports', 'my-export', 'lines']) expect(call(id)).toMatchObject({ url: `/x/${id}` });
  });

  it('keeps its segments for any values', () => {
    const tool = toolOf('GET /x/{a}/y/{b}', {});
    const value = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: ANY_CHARACTER, minLength: 1 }) },
      { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...'.%2e?#&=+ä ') }) },
      { weight: 1, arbitrary: fc.constantFrom('..', '.', '%2e', 'a/b', '//', '?', '#') },
    );
    let made = 0;
    fc.assert(
      fc.property(value, value, (a, b) => {
        const request = tool.bind({ a, b });
        if ('faults' in request) return;
        made++;
        // A backend may resolve dots, including encoded ones, as the WHATWG URL parser does.
        const { pathname, search, hash } = new URL(request.url, 'http://backend');
        const [, x, first = '', y, second = '', ...rest] = pathname.split('/');
        expect([x, y, rest, search, hash]).toEqual(['x', 'y', [], '', '']);
        expect([first, second].map(decodeURIComponent)).toEqual([a.toWellFormed(), b.toWellFormed()]);
      }),
      { numRuns: 1_000 },
    );
    expect(made).toBeGreaterThan(300);
  });
});

describe('the query', () => {
  it.each([
    ['a text', { type: 'string' }, {}, 'a b&c=d+é', '/x?q=a%20b%26c%3Dd%2B%C3%A9'],
    ['an empty text', { type: 'string' }, {}, '', '/x?q='],
    ['a number', { type: 'number' }, {}, 1.5, '/x?q=1.5'],
    ['false', { type: 'boolean' }, {}, false, '/x?q=false'],
    ['null', {}, {}, null, '/x'],
    ['a list', list, {}, ['a', 'b,c'], '/x?q=a&q=b%2Cc'],
    ['an empty list', list, {}, [], '/x'],
    ['a list in one value', list, { explode: false }, ['a', 'b,c'], '/x?q=a,b%2Cc'],
    ['an empty list in one value', list, { explode: false }, [], '/x'],
    ['a list, spaceDelimited', list, { style: 'spaceDelimited', explode: false }, ['a', 'b'], '/x?q=a%20b'],
    ['a list, pipeDelimited', list, { style: 'pipeDelimited', explode: false }, ['a', 'b'], '/x?q=a%7Cb'],
    ['an object', object, {}, { a: 1, 'b&': 'c' }, '/x?a=1&b%26=c'],
    ['an object in one value', object, { explode: false }, { a: 1, b: 2 }, '/x?q=a,1,b,2'],
    [
      'an object, deepObject',
      object,
      { style: 'deepObject' },
      { a: 1, b: { c: [2] } },
      '/x?q%5Ba%5D=1&q%5Bb%5D%5Bc%5D%5B0%5D=2',
    ],
    [
      'an object as JSON',
      undefined,
      { content: { 'application/json': { schema: object } } },
      { a: [1] },
      '/x?q=%7B%22a%22%3A%5B1%5D%7D',
    ],
    ['half of a surrogate pair', {}, {}, '\udc00', '/x?q=%EF%BF%BD'],
  ])('serializes %s', (_case, schema, more, q, url) => {
    expect(urlOf('GET /x', parameter('query', schema, more), { q })).toBe(url);
  });

  it('has only the given parameters, in the order of the document', () => {
    const named = (name: string) => ({ name, in: 'query', schema: {} });
    const tool = toolOf('GET /x', { parameters: ['a', 'filter[b]', '__proto__', 'c'].map(named) });
    expect(tool.bind({ c: 1, filter_b: 2, _proto_: 3 })).toMatchObject({ url: '/x?filter%5Bb%5D=2&__proto__=3&c=1' });
    expect(tool.bind({})).toMatchObject({ url: '/x' });
  });

  it('decodes to the original texts, for any texts', () => {
    const tool = toolOf('GET /x', parameter('query', list));
    fc.assert(
      fc.property(fc.array(fc.string({ unit: ANY_CHARACTER })), (q) => {
        const request = tool.bind({ q });
        if ('faults' in request) throw new Error('no fault was meant');
        const { searchParams } = new URL(request.url, 'http://backend');
        expect([...searchParams]).toEqual(q.map((each) => ['q', each.toWellFormed()]));
      }),
    );
  });
});

describe('header fields', () => {
  const named = (name: string, schema: unknown = {}) => ({ name, in: 'header', schema });

  it('come from the parameters, with Accept and with Content-Type for a body', () => {
    const tool = toolOf('POST /x', {
      parameters: [named('X-Trace'), named('If-Match'), named('X-List', list), named('X-None')],
      requestBody: json({ type: 'object', properties: { a: {} } }),
    });
    const lines = 'x-trace: a b\r\nif-match: "1"\r\nx-list: a,b\r\n';
    expect(bindCall(tool, { 'X-Trace': '  a b ', 'If-Match': '"1"', 'X-List': ['a', 'b'] })).toEqual({
      url: '/x',
      lines: `accept: */*\r\n${lines}`,
      body: undefined,
    });
    expect(bindCall(tool, { a: 1, 'X-None': null })).toEqual({
      url: '/x',
      lines: 'accept: */*\r\ncontent-type: application/json\r\n',
      body: '{"a":1}',
    });
  });

  it.each(['a\r\nX-Admin: 1', 'a\nb', 'a\0', '\x7f', '\x85', 'ł', 'a\u2028b', 'a\rb'])('never contain %j', (q) => {
    const detail = 'must be one line, with no characters beyond Latin-1';
    expect(toolOf('GET /x', parameter('header', {})).bind({ q })).toEqual({ faults: [{ field: 'q', detail }] });
  });
});

describe('a body', () => {
  const bodyOf = (requestBody: object, args: Readonly<Record<string, unknown>>, settings: unknown = true) => {
    const request = bindCall(toolOf('POST /x', { 'x-mcp': settings, requestBody }), args);
    return 'faults' in request ? request.faults : request.body;
  };
  const fields = { type: 'object', properties: { a: {}, b: {} } };
  const form = (schema: unknown, more: object = {}) => ({
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema, ...more } },
  });

  it.each([
    ['of fields', json(fields), { b: [1, null], a: 'ä' }, '{"a":"ä","b":[1,null]}'],
    ['of fields of which one is null', json(fields), { a: null }, '{"a":null}'],
    ['that may be left out, of none', json(fields), {}, undefined],
    ['that must be there, of none', { required: true, ...json(fields) }, {}, '{}'],
    ['that is a list', json(list), { body: [1, 2] }, '[1,2]'],
    ['that is null', { required: true, ...json({}) }, { body: null }, 'null'],
    ['that may be left out, and is', json(list), {}, undefined],
    ['of a vendor', { content: { 'application/vnd.x+json': { schema: fields } } }, { a: 1 }, '{"a":1}'],
    ['of text', { content: { 'text/plain': {} } }, { body: 'ä\n' }, 'ä\n'],
    ['of a form', form(fields), { a: 'x&y=z', b: [1, 2] }, 'a=x%26y%3Dz&b=1&b=2'],
    [
      'of a form with numbers of many digits',
      form(fields),
      { b: parseExact('[1.10,9007199254740993]') },
      'b=1.10&b=9007199254740993',
    ],
    ['of a form with a nested field', form(fields), { a: [{ n: 1 }] }, 'a%5B0%5D%5Bn%5D=1'],
    [
      'of a form that is encoded as it says',
      form(fields, { encoding: { b: { style: 'deepObject' } } }),
      { b: { c: 1 } },
      'b%5Bc%5D=1',
    ],
    ['of a form, of none', form(fields), {}, ''],
  ])('%s', (_case, requestBody, args, text) => {
    expect(bodyOf(requestBody, args)).toBe(text);
  });

  it('can have fields with names from Object.prototype, but has none by default', () => {
    const own = { type: 'object', properties: { constructor: {}, toString: {} } };
    expect(bodyOf(json(own), {})).toBeUndefined();
    expect(bodyOf(json(own), { constructor: 1 })).toBe('{"constructor":1}');
  });

  it.each([
    ['a field', { fixed: { a: 7 } }, { b: 1 }, '{"a":7,"b":1}'],
    ['a field, also where nothing is given', { fixed: { a: null } }, {}, '{"a":null}'],
    ['nothing, of what is hidden', { hide: ['a'] }, { b: 1 }, '{"b":1}'],
    ['all of it', { fixed: { body: [1] } }, {}, '[1]'],
  ])('contains fixed values: %s', (_case, settings, args, text) => {
    const schema = 'body' in (('fixed' in settings && settings.fixed) || {}) ? list : fields;
    expect(bodyOf(json(schema), args, settings)).toBe(text);
  });

  it('contains a fixed long number as a number if it is configured as a string', () => {
    const schema = { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } };
    const digits = '1234567890123456789';
    expect(bodyOf(json(schema), {}, { fixed: { id: digits } })).toBe(`{"id":${digits}}`);
  });

  it('refuses arguments for fixed or hidden fields', () => {
    expect(bodyOf(json(fields), { a: 1, b: 2 }, { fixed: { a: 7 }, hide: ['b'] })).toEqual([
      { field: 'a', detail: expect.stringContaining('is no argument') },
      { field: 'b', detail: expect.stringContaining('is no argument') },
    ]);
  });
});

describe('fixed parameters', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: {} },
    { name: 'limit', in: 'query', schema: {} },
    { name: 'X-Of', in: 'header', schema: {} },
  ];

  it('are sent in path, query and header, and are not arguments', () => {
    const tool = toolOf('GET /x/{id}', { parameters, 'x-mcp': { fixed: { id: 'a b', limit: 50, 'X-Of': 'mcp' } } });
    expect(tool.inputSchema).toEqual({ type: 'object', additionalProperties: false });
    expect(tool.bind({})).toEqual({
      url: '/x/a%20b?limit=50',
      lines: 'accept: */*\r\nx-of: mcp\r\n',
      body: undefined,
    });
  });
});

describe('bounds', () => {
  it('refuse arguments that make the request head too long', () => {
    const tool = toolOf('GET /x', parameter('query', list));
    expect(tool.bind({ q: ['a'.repeat(16_000)] })).toHaveProperty('url');
    expect(tool.bind({ q: ['a'.repeat(17_000)] })).toEqual({
      faults: [{ field: '', detail: 'are too long for the path, the query and the header' }],
    });
    expect(tool.bind({ q: Array(5_000).fill('ab') })).toHaveProperty('faults');
  });

  it('encode an object as JSON below eight levels of brackets', () => {
    let q: unknown = 'x';
    for (let depth = 0; depth < 20; depth++) q = { a: q };
    const request = toolOf('GET /x', parameter('query', object, { style: 'deepObject' })).bind({ q });
    const url = 'url' in request ? decodeURIComponent(request.url) : '';
    expect(url).toMatch(/^\/x\?q(\[a\]){8}=\{"a":\{.*"x"\}+$/);
  });

  it('limit the reported faults to ten', () => {
    const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
    const request = toolOf(`GET /${names.map((name) => `{${name}}`).join('/')}`, {}).bind(
      Object.fromEntries(names.map((name) => [name, '..'])),
    );
    expect('faults' in request && request.faults.length).toBe(10);
  });
});
