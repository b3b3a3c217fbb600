/** Scope descriptions come from OpenAPI documents, and are valid text whatever a document contains. */
import { expect, it } from '@jest/globals';
import type { DescribedOperation } from '../model/loaded-config.js';
import { describeScopes } from './scope-words.js';

const operation = (scopes: string[], openapi: Record<string, unknown>) =>
  ({ scopes, openapi }) as unknown as DescribedOperation;

it('prefers descriptions of the OAuth scheme, then of the extension, then operation summaries', () => {
  const document = {
    components: {
      securitySchemes: {
        byReference: { $ref: '#/components/securitySchemes/oauth' },
        oauth: { type: 'oauth2', flows: { clientCredentials: { scopes: { 'a:read': ' Read\n a ', 'a:gone': 'x' } } } },
        bearer: { type: 'http', 'x-trailgate-scopes': { 'a:read': 'no', 'a:write': 'Change a' } },
      },
    },
  };
  const words = describeScopes(new Map([['s', document]]), [
    operation(['a:read', 'b:read'], { tags: ['Boats', 'x'], summary: 'List boats' }),
    operation(['a:write'], { summary: 'Create a boat' }),
    operation(['a:write', 'b:read'], { tags: ['Late'], summary: 'Rent a boat' }),
  ]);
  expect(Object.fromEntries(words)).toEqual({
    'a:read': { description: 'Read a', group: 'Boats', translations: {} },
    'a:write': { description: 'Change a', group: 'Late', translations: {} },
    'b:read': { description: 'List boats; Rent a boat', group: 'Boats', translations: {} },
  });
});

it.each([[{ tags: 'Boats', summary: 7 }], [{ tags: [], summary: '   ' }], [{ tags: [null], summary: '\u0000' }], [{}]])(
  'gives no description or group for %j',
  (openapi) => {
    expect(describeScopes(new Map(), [operation(['a:read'], openapi)]).get('a:read')).toEqual({
      description: null,
      group: null,
      translations: {},
    });
  },
);

it('returns the translations of the documents, and uses the first language as the default', () => {
  const said = {
    'a:read': { de: ' Lesen\n', 'pt-BR': 'Ler', es: 7, '__proto__ ': 'x', EN: 'Read' },
    'a:write': 'Change',
  };
  const document = {
    tags: [{ name: 'Boats', 'x-trailgate-names': { de: 'Boote', es: 'Barcos' } }, { name: 'Tours' }, 'x', null],
    components: {
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: { scopes: { 'b:read': 'Look up boats' } } } },
        bearer: { type: 'http', 'x-trailgate-scopes': { ...said, 'b:read': { es: 'Consultar barcos' } } },
      },
    },
  };
  const words = describeScopes(new Map([['s', document]]), [
    operation(['a:read', 'b:read'], { tags: ['Boats'] }),
    operation(['a:write'], { tags: ['Tours'] }),
  ]);
  expect(Object.fromEntries(words)).toEqual({
    'a:read': {
      description: 'Lesen',
      group: 'Boats',
      translations: {
        de: { description: 'Lesen', group: 'Boote' },
        'pt-BR': { description: 'Ler', group: null },
        es: { description: null, group: 'Barcos' },
      },
    },
    'a:write': { description: 'Change', group: 'Tours', translations: {} },
    'b:read': {
      description: 'Look up boats',
      group: 'Boats',
      translations: {
        de: { description: null, group: 'Boote' },
        es: { description: 'Consultar barcos', group: 'Barcos' },
      },
    },
  });
});

it('shortens a description to one line of 500 characters, and a group to 100', () => {
  const words = describeScopes(new Map(), [
    operation(['a:read'], { tags: ['g'.repeat(999)], summary: 'x\n'.repeat(999) }),
  ]);
  const { description, group } = words.get('a:read')!;
  expect([description!.length, group!.length]).toEqual([500, 100]);
  expect(description).not.toContain('\n');
});
