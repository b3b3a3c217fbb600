/** Vite configuration of the admin panel. */
import { transformAsync } from '@babel/core';
import { getConfig } from '@lingui/conf';
import { lingui } from '@lingui/vite-plugin';
import react from '@vitejs/plugin-react';
import { join } from 'node:path';

/**
 * Plugin that compiles Lingui's macros with Babel. Lingui's own transform is a native package, which npm does not
 * install when it runs under Node 20.
 */
function linguiMacros(linguiConfig) {
  return {
    name: 'lingui-macros',
    enforce: 'pre',
    transform: {
      filter: { id: /\.tsx?$/, code: /@lingui\/(core|react)\/macro/ },
      async handler(code, id) {
        const made = await transformAsync(code, {
          filename: id,
          babelrc: false,
          configFile: false,
          sourceMaps: true,
          parserOpts: { plugins: ['typescript', 'jsx'] },
          plugins: [['@lingui/babel-plugin-lingui-macro', { descriptorFields: 'id-only', linguiConfig }]],
        });
        return made?.code ? { code: made.code, map: made.map } : null;
      },
    },
  };
}

/** Returns Vite's configuration for the project in the folder `root`. */
export function viteConfig(root) {
  const configPath = join(root, 'scripts/panel/lingui.config.mjs');
  return {
    configFile: false,
    root: join(root, 'src/panel'),
    cacheDir: join(root, 'node_modules/.cache/vite'),
    logLevel: 'warn',
    clearScreen: false,
    plugins: [
      linguiMacros(getConfig({ configPath })),
      lingui({ configPath, failOnMissing: true, failOnCompileError: true }),
      react(),
    ],
    build: {
      // The panel's Content-Security-Policy forbids inline scripts, and allows `data:` URLs only for images.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      manifest: true,
      reportCompressedSize: false,
      rolldownOptions: { checks: { pluginTimings: false } },
      chunkSizeWarningLimit: 1_000,
    },
  };
}
