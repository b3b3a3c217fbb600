/** How Vite builds the panel: for `scripts/build.mjs`, and `npm run dev:panel`, which serves it from its sources. */
import { transformAsync } from '@babel/core';
import { getConfig } from '@lingui/conf';
import { lingui } from '@lingui/vite-plugin';
import react from '@vitejs/plugin-react';
import { join } from 'node:path';

/** Lingui's macros by Babel: its own transform is a native package that an npm which runs under Node 20 leaves out. */
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

/** Vite's configuration for the project in this folder. */
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
      // No inline script and no data: URL, which the Content-Security-Policy would refuse.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      manifest: true,
      reportCompressedSize: false,
      rolldownOptions: { checks: { pluginTimings: false } },
      chunkSizeWarningLimit: 1_000,
    },
  };
}
