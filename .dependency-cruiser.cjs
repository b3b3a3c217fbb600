/**
 * Who may import whom. Four floors, and every import goes down: the top starts the program, the planes serve somebody,
 * the domain decides, the ground knows nothing of what stands on it. `npm run lint` holds the source
 * to these rules.
 */
const floors = require('./scripts/floors.json');

/** Paths of a floor's folders, and of its files that lie in `src/` itself. */
const floor = (names) =>
  `^src/(${names.map((name) => (name.endsWith('.ts') ? `${name.replace('.', '\\.')}$` : `${name}/`)).join('|')})`;
const TOP = floor(floors.top);
const PLANE = `^src/(${floors.planes.join('|')})/`;
const DOMAIN = floor(floors.domain);
const GROUND = floor(floors.ground);
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
      'What two planes share belongs to the domain.',
      { path: PLANE, pathNot: SPEC },
      { path: PLANE, pathNot: '^src/$1/' },
    ),
    forbidden(
      'nothing-imports-the-top',
      'main, program, start, demo, shutdown and the commands put the program together; nothing leans on them.',
      { path: '^src/', pathNot: [TOP, SPEC] },
      { path: TOP },
    ),
    forbidden(
      'domain-knows-no-plane',
      'A plane is thin and asks the domain, never the other way round.',
      { path: DOMAIN, pathNot: SPEC },
      { path: PLANE },
    ),
    forbidden(
      'ground-knows-nothing-above',
      'The ground can be understood, and replaced, alone.',
      { path: GROUND, pathNot: SPEC },
      { path: [PLANE, DOMAIN] },
    ),
    forbidden(
      'config-is-the-lowest-of-the-domain',
      'Every part of the domain may read the configuration; it reads none of them.',
      { path: '^src/config/', pathNot: SPEC },
      { path: DOMAIN, pathNot: '^src/config/' },
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
      'It runs in a browser, and is typed by the description of the API; the table of permissions has no imports.',
      { path: PANEL, pathNot: SPEC },
      { path: '^src/', pathNot: [PANEL, '^src/members/permissions\\.ts$'] },
    ),
    forbidden(
      'no-program-knows-the-panel',
      'It is built apart, and served as files.',
      { path: '^src/', pathNot: PANEL },
      { path: PANEL },
    ),
    forbidden(
      'every-file-has-a-floor',
      'A new folder or file at the top needs its place in this file first.',
      { path: '^src/', pathNot: [TOP, PLANE, DOMAIN, GROUND, CUSTOMERS, PANEL, SPEC] },
      {},
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
