/**
 * Bundles the programs of `dist/`: `dist/bundled/` holds them with their packages in a few files, and what stood in the place of a program
 * leads there. Node finds, reads and links each file of a program by itself; as 1,700 files that was more than half of a start's processor
 * time. The files one by one stay beside it, for what loads a part of the program.
 *
 * What a program loads by `import()` is a file of its own, with a hash in its name: a program that runs from an earlier build loads
 * what belongs to it. Source maps are read only with `--enable-source-maps`, and leave the sources out.
 */
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import addFormats from 'ajv-formats';
import Ajv2020 from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { rolldown } from 'rolldown';

/** What Node is given to run, in `dist/`: the command, the demo's backend, the check of a configuration, the counters of workers, SQLite's thread. */
const PROGRAMS = [
  'main.js',
  'customers/main.js',
  'program/reload/check-process.js',
  'quota/counting/counting-process.js',
  'stores/database/sqlite-worker.js',
];
/** Packages that read files beside their own, and large ones that are loaded only where they are needed: they stay where they are. */
const NOT_BUNDLED = [
  '@scalar/fastify-api-reference',
  '@simplewebauthn/server',
  'nodemailer',
  'oidc-provider',
  'openid-client',
];
/** Reads the schemas that stand beside it; every start loads it, with a hundred small files of the packages that it needs. */
const VALIDATOR = '@seriousme/openapi-schema-validator';
const FOLDER = 'bundled';
/** Files of one build are written within so long. */
const BUILD_MS = 60_000;

/** `program/reload/check-process.js` is bundled as `program-reload-check-process.js`: all files in one folder. */
const nameOf = (program) => program.replace(/\.js$/, '').replaceAll('/', '-');

/** Reads a module of ours with its source map; `import.meta.url` stays the place of the module, and not that of the bundle. */
const ownModules = (dist) => ({
  name: 'own-modules',
  load(id) {
    if (!id.startsWith(dist + sep)) return null;
    const place = JSON.stringify(`../${relative(dist, id)}`);
    const code = readFileSync(id, 'utf8').replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`);
    return { code, map: readFileSync(`${id}.map`, 'utf8') };
  },
});

/** The version whose schema is compiled here, since most documents have it. */
const COMPILED_VERSION = '3.1';
const COMPILED = 'node_modules/.cache/openapi-schema.cjs';

/** The schema as a function, which a start would take a tenth of its time to compile. */
function compiledSchema(root) {
  const schema = join(root, 'node_modules', VALIDATOR, 'schemas', `v${COMPILED_VERSION}`, 'schema.json');
  const ajv = new Ajv2020({ strict: false, validateSchema: false, code: { source: true } });
  addFormats.default(ajv);
  ajv.addFormat('media-range', true);
  return standaloneCode.default(ajv, ajv.compile(JSON.parse(readFileSync(schema, 'utf8'))));
}

const validator = (root) => ({
  name: 'validator',
  resolveId: (id) => (id === COMPILED ? join(root, COMPILED) : null),
  load: (id) => (id === join(root, COMPILED) ? compiledSchema(root) : null),
  transform(code, id) {
    if (!id.endsWith(`/node_modules/${VALIDATOR}/index.js`)) return null;
    const method = 'getAjvValidator(version) {';
    if (!code.includes(method)) throw new Error(`${VALIDATOR} has no ${method}`);
    const shortcut = `${method}\nif (version === '${COMPILED_VERSION}' && !this.ajvOptions.allErrors) return compiled;`;
    // The place of the package stays where its files are.
    const placed = code.replaceAll('import.meta.url', `import.meta.resolve('${VALIDATOR}')`).replace(method, shortcut);
    return { code: `import compiled from '${COMPILED}';\n${placed}`, map: null };
  },
});

/**
 * Bundles what stands in `dist`, for a program that will stand there. `previous` is the `dist` that was there: what its programs may
 * still load is taken over. Throws what the bundler says where it fails.
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
    // It warns of packages that Nest looks for and goes on without.
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
  keepEarlier(join(previous, FOLDER), target);
}

/** Takes over what the build before this one has written, and not what that one has taken over itself. */
function keepEarlier(previous, target) {
  if (!existsSync(previous)) return;
  const files = readdirSync(previous).filter((name) => name.endsWith('.js'));
  const writtenMs = new Map(files.map((name) => [name, statSync(join(previous, name)).mtimeMs]));
  const newestMs = Math.max(...writtenMs.values());
  for (const name of files) {
    if (existsSync(join(target, name)) || newestMs - writtenMs.get(name) > BUILD_MS) continue;
    cpSync(join(previous, name), join(target, name), { preserveTimestamps: true });
  }
}
