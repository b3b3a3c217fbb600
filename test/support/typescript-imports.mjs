/**
 * Lets scripts import the TypeScript files of `test/support`. Import paths there end in `.js`, and Node alone cannot run
 * files with parameter properties. A script imports this file first, and then the files it needs with `import()`.
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformFileSync } from '@swc/core';

registerHooks({
  resolve(specifier, context, next) {
    const fromSupport = specifier.startsWith('.') && context.parentURL?.includes('/test/support/');
    return next(fromSupport ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    return { format: 'module', source: transformFileSync(fileURLToPath(url)).code, shortCircuit: true };
  },
});
