/**
 * Bundles the programs of `dist/` and their packages into a few files in `dist/bundled/`. The original entry files then
 * only import the bundles. Without bundles Node resolves, reads and links 1,700 files, which was more than half of the
 * CPU time of a start. The unbundled modules stay in `dist/` for code that loads parts of the program.
 *
 * Modules loaded with `import()` become separate files with a hash in the name. A process that was started from an
 * earlier build therefore loads matching files. Source maps contain no sources, and Node reads them only with
 * `--enable-source-maps`.
 */
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import addFormats from 'ajv-formats';
import Ajv2020 from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { rolldown } from 'rolldown';

/**
 * Entry files in `dist/`: the command, the backend of the demo, the configuration check, the counting process of
 * workers, and the thread of SQLite.
 */
const PROGRAMS = [
  'main.js',
  'customers/main.js',
  'program/reload/check-process.js',
  'quota/counting/counting-process.js',
  'stores/database/sqlite-worker.js',
];
/**
 * Packages that stay in `node_modules`: packages that read their own data files, and large ones that load on demand.
 */
const NOT_BUNDLED = [
  '@scalar/fastify-api-reference',
  '@simplewebauthn/server',
  'nodemailer',
  'oidc-provider',
  'openid-client',
];
/**
 * Package that validates OpenAPI documents. It reads JSON schemas from its own folder. It is bundled nevertheless,
 * because it and its dependencies have about a hundred small files.
 */
const VALIDATOR = '@seriousme/openapi-schema-validator';
const FOLDER = 'bundled';
/** Maximum time between the first and the last file that a build writes. Older files come from an earlier build. */
const BUILD_MS = 60_000;

/** Returns the name of a program's bundle: `program-reload-check-process` for `program/reload/check-process.js`. */
const nameOf = (program) => program.replace(/\.js$/, '').replaceAll('/', '-');

/**
 * Plugin that loads compiled modules with their source maps. In the bundle, `import.meta.url` still resolves to the URL
 * of the original module.
 */
const ownModules = (dist) => ({
  name: 'own-modules',
  load(id) {
    if (!id.startsWith(dist + sep)) return null;
    const modulePath = JSON.stringify(`../${relative(dist, id)}`);
    const code = readFileSync(id, 'utf8').replaceAll('import.meta.url', `new URL(${modulePath}, import.meta.url).href`);
    return { code, map: readFileSync(`${id}.map`, 'utf8') };
  },
});

/** OpenAPI version whose schema is compiled during the build, because most documents use it. */
const COMPILED_VERSION = '3.1';
const COMPILED = 'node_modules/.cache/openapi-schema.cjs';

/** Returns the source of a validation function for the schema. Compiling it took a tenth of the time of a start. */
function compiledSchema(root) {
  const schema = join(root, 'node_modules', VALIDATOR, 'schemas', `v${COMPILED_VERSION}`, 'schema.json');
  const ajv = new Ajv2020({ strict: false, validateSchema: false, code: { source: true } });
  addFormats.default(ajv);
  ajv.addFormat('media-range', true);
  return standaloneCode.default(ajv, ajv.compile(JSON.parse(readFileSync(schema, 'utf8'))));
}

/** Plugin that makes the bundled validator use the precompiled function for `COMPILED_VERSION`. */
const validator = (root) => ({
  name: 'validator',
  resolveId: (id) => (id === COMPILED ? join(root, COMPILED) : null),
  load: (id) => (id === join(root, COMPILED) ? compiledSchema(root) : null),
  transform(code, id) {
    if (!id.endsWith(`/node_modules/${VALIDATOR}/index.js`)) return null;
    const method = 'getAjvValidator(version) {';
    if (!code.includes(method)) throw new Error(`${VALIDATOR} has no ${method}`);
    const shortcut = `${method}\nif (version === '${COMPILED_VERSION}' && !this.ajvOptions.allErrors) return compiled;`;
    // The package finds its schemas relative to its own URL, so the bundle must keep that URL.
    const patched = code.replaceAll('import.meta.url', `import.meta.resolve('${VALIDATOR}')`).replace(method, shortcut);
    return { code: `import compiled from '${COMPILED}';\n${patched}`, map: null };
  },
});

/**
 * Bundles the programs of a build, and replaces their entry files. Rejects with the errors of the bundler.
 * @param root folder of the project
 * @param dist folder of the compiled program
 * @param previous `dist/` of the previous build. Its bundles are copied, because running processes may still load them.
 */
export async function bundle(root, dist, previous) {
  const programs = PROGRAMS.filter((program) => existsSync(join(dist, program)));
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(programs.map((program) => [nameOf(program), join(dist, program)])),
    platform: 'node',
    external: NOT_BUNDLED,
    plugins: [ownModules(dist), validator(root)],
    preserveEntrySignatures: false,
    // Hides warnings about optional packages of Nest that are not installed.
    logLevel: 'silent',
    transform: { define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' } },
  });
  const target = join(dist, FOLDER);
  const { output } = await build.write({
    dir: target,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await build.close();
  for (const { fileName } of output.filter(({ fileName: name }) => name.endsWith('.map'))) {
    const { sourcesContent: _content, ...map } = JSON.parse(readFileSync(join(target, fileName), 'utf8'));
    writeFileSync(join(target, fileName), JSON.stringify(map));
  }
  for (const program of programs) {
    const firstLine = /^#!.*\n/.exec(readFileSync(join(dist, program), 'utf8'))?.[0] ?? '';
    const bundled = relative(dirname(join(dist, program)), join(target, `${nameOf(program)}.js`));
    writeFileSync(join(dist, program), `${firstLine}import ${JSON.stringify(bundled.replace(/^(?!\.)/, './'))};\n`);
  }
  copyPreviousBundles(join(previous, FOLDER), target);
}

/** Copies the bundles that the previous build wrote, but not those that it had copied from its predecessor. */
function copyPreviousBundles(previous, target) {
  if (!existsSync(previous)) return;
  const files = readdirSync(previous).filter((name) => name.endsWith('.js'));
  const writtenMs = new Map(files.map((name) => [name, statSync(join(previous, name)).mtimeMs]));
  const newestMs = Math.max(...writtenMs.values());
  for (const name of files) {
    if (existsSync(join(target, name)) || newestMs - writtenMs.get(name) > BUILD_MS) continue;
    cpSync(join(previous, name), join(target, name), { preserveTimestamps: true });
  }
}
