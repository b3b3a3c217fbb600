/**
 * Compiles TypeScript for Node's module loader, as the build does. Compiles a file at first use, and caches the result
 * in `node_modules/.cache/tests` until the file changes. In imports, `.js` refers to the `.ts` file next to it.
 */
import { transformSync, type Options } from '@swc/core';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const KEPT = join(ROOT, 'node_modules/.cache/tests');
const GLOBALS = new URL('globals.mjs', import.meta.url).href;
/** Compiler options. Their hash is part of the cache key. */
const OPTIONS: Options = {
  swcrc: false,
  jsc: {
    target: 'es2023',
    keepClassNames: true,
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
  module: { type: 'es6' },
  sourceMaps: true,
};
const OPTIONS_KEY = createHash('sha256').update(JSON.stringify(OPTIONS)).digest('hex').slice(0, 8);

/** Returns the path of the cached JavaScript of a file. The path of its source map has `.map` appended. */
function keptPath(file: string): string {
  const name = createHash('sha256').update(file).digest('hex').slice(0, 24);
  return join(KEPT, `${name}-${OPTIONS_KEY}.js`);
}

/** Writes a file atomically, because several workers share the cache. */
function writeWhole(path: string, text: string): void {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, path);
}

/** Returns the JavaScript of a TypeScript file, from the cache if the file has not changed. */
export function compileFile(file: string): string {
  const path = keptPath(file);
  const { mtimeMs, size } = statSync(file);
  // The last line of a cached file identifies the state of its source.
  const version = `\n// ${mtimeMs} ${size}\n`;
  const kept = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (kept.endsWith(version)) return kept;
  mkdirSync(KEPT, { recursive: true });
  const { code, map } = transformSync(readFileSync(file, 'utf8'), { ...OPTIONS, filename: file });
  writeWhole(`${path}.map`, map ?? '');
  writeWhole(path, code + version);
  return code;
}

/** Paths of source maps, by URL of the loaded module. Jest reads them for stack traces. */
export const SOURCE_MAPS = new Map<string, string>();

/** Registers hooks, so that `import` can load the project's TypeScript files from now on. */
export function compileTypeScript(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
      const ours = specifier.startsWith('.') && specifier.endsWith('.js') && /\.ts(\?|$)/.test(context.parentURL ?? '');
      if (!ours) return next(specifier, context);
      const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
      return existsSync(url) ? { url: url.href, format: 'module', shortCircuit: true } : next(specifier, context);
    },
    load(url, context, next) {
      const isOurs = /^file:.*\.ts(\?|$)/.test(url) && !url.includes('/node_modules/');
      if (!isOurs) return next(url, context);
      const file = fileURLToPath(url);
      SOURCE_MAPS.set(url, `${keptPath(file)}.map`);
      return { format: 'module', source: compileFile(file), shortCircuit: true };
    },
  });
}
