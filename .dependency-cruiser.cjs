/**
 * Says who may import whom, beside the order of the modules (scripts/modules.json), to which `test/architecture.spec.ts` holds
 * the source.
 */
const PANEL = '^src/panel/';
const CUSTOMERS = '^src/customers/';
const SPEC = '\\.spec\\.ts$';

const forbidden = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbidden('no-cycles', 'Two files that need each other are one thing, or hide a third.', {}, { circular: true }),
    forbidden(
      'planes-stay-apart',
      'What two of them share belongs to a module below. The OAuth clients of assistants are managed by the admin API.',
      { path: '^src/(gateway|reference|mcp|authorization|admin)/', pathNot: SPEC },
      {
        path: '^src/(gateway|reference|mcp|authorization|admin)/',
        pathNot: ['^src/$1/', '^src/authorization/clients/'],
      },
    ),
    forbidden(
      'customers-knows-no-gateway',
      'The reference backend stands for any backend: it knows only the headers that it receives.',
      { path: CUSTOMERS },
      { path: '^src/', pathNot: CUSTOMERS },
    ),
    forbidden(
      'no-gateway-knows-customers',
      'The reference backend is reached over HTTP, as any backend is.',
      { path: '^src/', pathNot: CUSTOMERS },
      { path: CUSTOMERS },
    ),
    forbidden(
      'panel-knows-the-api-alone',
      'It runs in a browser, and is typed by the description of the API. The tables of operations and errors are plain data.',
      { path: PANEL, pathNot: SPEC },
      {
        path: '^src/',
        pathNot: [
          PANEL,
          '^src/admin/openapi/operations\\.ts$',
          '^src/members/permissions\\.ts$',
          '^src/platform/problems/public-errors\\.ts$',
        ],
      },
    ),
    forbidden(
      'no-program-knows-the-panel',
      'It is built apart, and served as files.',
      { path: '^src/', pathNot: PANEL },
      { path: PANEL },
    ),
    forbidden(
      'program-needs-no-tests',
      'dist/ is built without them.',
      { path: '^src/', pathNot: SPEC },
      { path: '^test/' },
    ),
    forbidden(
      'program-needs-no-dev-dependency',
      'The image is installed without them; of the panel it has the built files.',
      { path: '^src/', pathNot: [SPEC, PANEL] },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
    forbidden(
      'no-undeclared-package',
      'It is there by accident.',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    ),
    forbidden(
      'no-barrel-and-no-drawer',
      'A name of the field says what is in it.',
      {},
      {
        path: [
          '^src/.*index\\.tsx?$',
          '^src/.*/(common|shared|utils|helpers|misc)/',
          '^src/.*/(utils|helpers)\\.tsx?$',
        ],
      },
    ),
    forbidden(
      'everything-resolves',
      'An import that leads nowhere escapes every other rule.',
      {},
      { couldNotResolve: true },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: {
      path: '^test/(bench/peers|clients|mcp-exact|openapi-tools|generated-clients|oidc|smtp|webhook-verifiers|support/record-backend-errors)/',
    },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
